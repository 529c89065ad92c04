import { rowsOf, bigint, text } from '../../platform/db/columns.ts';
import { type Db, many, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';

/** Who said that a number wants no messages: its owner by a STOP word, the account, the operator, or a file. */
export type OptOutSource = 'STOP' | 'API' | 'OPERATOR' | 'IMPORT';

/** A number on a channel, as one account sees it. */
export type Consent = { readonly accountId: number; readonly phoneNumber: string; readonly channel: Channel };
export type OptOut = Consent & { readonly source: OptOutSource };

const keyColumns = {
  account_id: bigint((r: Consent) => r.accountId),
  phone_number: text((r: Consent) => r.phoneNumber),
  channel: text((r: Consent) => r.channel),
};

/** What is new of it; an opt-out that stands keeps its source and time. Nothing twice in a call. */
export const insertOptOuts = (db: Db, rows: readonly OptOut[]): Promise<Consent[]> =>
  many(
    db,
    sql`INSERT INTO opt_out AS o (account_id, phone_number, channel, source)
        SELECT u.account_id, u.phone_number, u.channel, u.source
        FROM ${rowsOf(rows, { ...keyColumns, source: text((r: OptOut) => r.source) })} AS u
        ORDER BY u.account_id, u.phone_number, u.channel
        ON CONFLICT (account_id, phone_number, channel) DO NOTHING
        RETURNING o.account_id AS "accountId", o.phone_number AS "phoneNumber", o.channel`,
  );

/** What was there of it. */
export const deleteOptOuts = (db: Db, rows: readonly Consent[]): Promise<Consent[]> =>
  many(
    db,
    sql`DELETE FROM opt_out o USING ${rowsOf(rows, keyColumns)} AS u
        WHERE o.account_id = u.account_id AND o.phone_number = u.phone_number AND o.channel = u.channel
        RETURNING o.account_id AS "accountId", o.phone_number AS "phoneNumber", o.channel`,
  );

/** Which of these want no messages, of many accounts. Nothing twice in a call. */
export const listOptedOut = (db: Db, rows: readonly Consent[]): Promise<Consent[]> =>
  many(
    db,
    sql`SELECT u.account_id AS "accountId", u.phone_number AS "phoneNumber", u.channel
        FROM ${rowsOf(rows, keyColumns)} AS u
        JOIN opt_out o ON o.account_id = u.account_id AND o.phone_number = u.phone_number AND o.channel = u.channel`,
  );

export type OptOutRow = { phoneNumber: string; channel: Channel; source: OptOutSource; createdAt: Date };

const RECORD = sql`SELECT phone_number AS "phoneNumber", channel, source, created_at AS "createdAt" FROM opt_out`;

/** Of one number. */
export const listOptOutsOf = (
  db: Db,
  { accountId, phoneNumber }: { accountId: number; phoneNumber: string },
): Promise<OptOutRow[]> =>
  many(db, sql`${RECORD} WHERE account_id = ${accountId} AND phone_number = ${phoneNumber} ORDER BY channel`);

/** Of an account, by number. */
export const listOptOuts = (db: Db, { accountId, limit }: { accountId: number; limit: number }): Promise<OptOutRow[]> =>
  many(db, sql`${RECORD} WHERE account_id = ${accountId} ORDER BY phone_number, channel LIMIT ${limit}`);
