import { bigint, insertRows, rowsOf, text } from '../../platform/db/columns.ts';
import { type Db, many, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Channel } from '../../platform/lib/channel.ts';

/** Origin of an opt-out: a STOP message, the account, the operator, or an imported file. */
export type OptOutSource = 'STOP' | 'API' | 'OPERATOR' | 'IMPORT';

/** A number on a channel, for one account. */
export type Consent = { readonly accountId: number; readonly phoneNumber: string; readonly channel: Channel };
/** An opt-out of a number on a channel, with its origin. */
export type OptOut = Consent & { readonly source: OptOutSource };

const keyColumns = {
  account_id: bigint((r: Consent) => r.accountId),
  phone_number: text((r: Consent) => r.phoneNumber),
  channel: text((r: Consent) => r.channel),
};

const CONSENT = columns({
  accountId: as<number>('o.account_id'),
  phoneNumber: as<string>('o.phone_number'),
  channel: as<Channel>('o.channel'),
});

/**
 * Stores opt-outs. An existing one keeps its source and time. Returns the new ones. Rows must be unique within a call.
 */
export const insertOptOuts = (db: Db, rows: readonly OptOut[]): Promise<Consent[]> =>
  many(
    db,
    sql`${insertRows('opt_out AS o', rows, { accountId: bigint, phoneNumber: text, channel: text, source: text })}
        ORDER BY account_id, phone_number, channel
        ON CONFLICT (account_id, phone_number, channel) DO NOTHING
        RETURNING ${CONSENT}`,
  );

/** Deletes opt-outs. Returns those that existed. */
export const deleteOptOuts = (db: Db, rows: readonly Consent[]): Promise<Consent[]> =>
  many(
    db,
    sql`DELETE FROM opt_out o USING ${rowsOf(rows, keyColumns)} AS u
        WHERE o.account_id = u.account_id AND o.phone_number = u.phone_number AND o.channel = u.channel
        RETURNING ${CONSENT}`,
  );

const OPTED_OUT = columns({
  accountId: as<number>('u.account_id'),
  phoneNumber: as<string>('u.phone_number'),
  channel: as<Channel>('u.channel'),
});

/** Lists those of these numbers, of any accounts, that have opted out. Rows must be unique within a call. */
export const listOptedOut = (db: Db, rows: readonly Consent[]): Promise<Consent[]> =>
  many(
    db,
    sql`SELECT ${OPTED_OUT}
        FROM ${rowsOf(rows, keyColumns)} AS u
        JOIN opt_out o ON o.account_id = u.account_id AND o.phone_number = u.phone_number AND o.channel = u.channel`,
  );

const OPT_OUT = columns({
  phoneNumber: as<string>('phone_number'),
  channel: as<Channel>('channel'),
  source: as<OptOutSource>('source'),
  createdAt: as<Date>('created_at'),
});
/** An opt-out as an account sees it. */
export type OptOutRow = RowOf<typeof OPT_OUT>;

/** Lists the opt-outs of one number, by channel. */
export const listOptOutsOf = (
  db: Db,
  { accountId, phoneNumber }: { accountId: number; phoneNumber: string },
): Promise<OptOutRow[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT} FROM opt_out
        WHERE account_id = ${accountId} AND phone_number = ${phoneNumber} ORDER BY channel`,
  );

/** Lists the first `limit` opt-outs of an account, by number. */
export const listOptOuts = (db: Db, { accountId, limit }: { accountId: number; limit: number }): Promise<OptOutRow[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT} FROM opt_out
        WHERE account_id = ${accountId} ORDER BY phone_number, channel LIMIT ${limit}`,
  );
