import { plainArray } from '../../../platform/db/array.ts';
import { type Db, many, type Sql, sql } from '../../../platform/db/query.ts';

type Of = { readonly accountId: number };

/** The test lists of an account, or those of these lists that are one. */
export async function listTestLists(
  db: Db,
  { accountId, ids }: Of & { ids: readonly number[] | null },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT id FROM contact_list
        WHERE account_id = ${accountId} AND is_test AND deleted_at IS NULL
          ${ids === null ? sql`` : sql`AND id = ANY(${plainArray(ids)}::bigint[])`} ORDER BY id`,
  );
  return rows.map(({ id }) => id);
}

export type TestRecipient = {
  phoneNumber: string;
  /** Bits of what the number can be reached on. */
  channels: number;
  /** As it goes to this contact. */
  text: string;
  rcsValues: Record<string, string>;
  whatsappValues: Record<string, string>;
};

/**
 * The contacts of lists with what they would be sent: expressions over contact `c`, made by src/engagement/campaigns/text/sql.ts.
 */
export const listTestRecipients = (
  db: Db,
  input: Of & { listIds: readonly number[]; text: Sql; rcsValues: Sql; whatsappValues: Sql; limit: number },
): Promise<TestRecipient[]> =>
  many(
    db,
    sql`SELECT c.phone_number AS "phoneNumber", c.channels, ${input.text} AS text, ${input.rcsValues} AS "rcsValues",
               ${input.whatsappValues} AS "whatsappValues"
        FROM contact c
        WHERE c.account_id = ${input.accountId} AND c.phone_number IS NOT NULL AND c.id IN (
          SELECT m.contact_id FROM contact_list_member m
          WHERE m.account_id = ${input.accountId} AND m.list_id = ANY(${plainArray(input.listIds)}::bigint[]))
        ORDER BY c.phone_number LIMIT ${input.limit}`,
  );
