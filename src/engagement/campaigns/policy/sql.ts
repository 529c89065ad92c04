import { textArray } from '../../../platform/db/array.ts';
import { type Db, maybeOne, one, sql } from '../../../platform/db/query.ts';

/** What an account wants of all its campaigns. */
export type Policy = {
  quietHours: { from: string; to: string } | null;
  /** Null: any. */
  smsSenders: string[] | null;
};

const COLUMNS = sql`quiet_hours AS "quietHours", sms_senders AS "smsSenders"`;

export const findPolicy = (db: Db, { accountId }: { accountId: number }): Promise<Policy | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM campaign_policy WHERE account_id = ${accountId}`);

/** Sets it, or changes the one that there is. */
export const insertPolicy = (
  db: Db,
  { accountId, quietHours, smsSenders }: Policy & { accountId: number },
): Promise<Policy> =>
  one(
    db,
    sql`INSERT INTO campaign_policy (account_id, quiet_hours, sms_senders)
        VALUES (${accountId}, ${quietHours === null ? null : JSON.stringify(quietHours)}::jsonb,
                ${smsSenders === null ? null : textArray(smsSenders)}::text[])
        ON CONFLICT (account_id) DO UPDATE
          SET quiet_hours = excluded.quiet_hours, sms_senders = excluded.sms_senders
        RETURNING ${COLUMNS}`,
  );
