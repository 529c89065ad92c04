import { textArray } from '../../../platform/db/array.ts';
import { type Db, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const POLICY = columns({
  quietHours: as<{ from: string; to: string } | null>('quiet_hours'),
  /** The senders that campaigns may use on SMS; null: any. */
  smsSenders: as<string[] | null>('sms_senders'),
});

/** Policy for all campaigns of an account. */
export type Policy = RowOf<typeof POLICY>;

export const findPolicy = (db: Db, { accountId }: { accountId: number }): Promise<Policy | undefined> =>
  maybeOne(db, sql`SELECT ${POLICY} FROM campaign_policy WHERE account_id = ${accountId}`);

/** Inserts the policy of an account, or replaces it. */
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
        RETURNING ${POLICY}`,
  );
