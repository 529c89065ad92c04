import { plainArray } from '../../../platform/db/array.ts';
import { type Db, many, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type Of = { readonly accountId: number };

/** Lists the ids of an account's test lists; with `ids`, only of those among them. */
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

type Expressions = { readonly text: Sql; readonly rcsValues: Sql; readonly whatsappValues: Sql };

const testRecipient = ({ text, rcsValues, whatsappValues }: Expressions) =>
  columns({
    phoneNumber: as<string>('c.phone_number'),
    /** Bits of the channels on which the number can be reached. */
    channels: as<number>('c.channels'),
    /** The text of the SMS, filled in for this contact. */
    text: as<string>(text),
    rcsValues: as<Record<string, string>>(rcsValues),
    whatsappValues: as<Record<string, string>>(whatsappValues),
  });

/** A contact of a test list with its content. */
export type TestRecipient = RowOf<ReturnType<typeof testRecipient>>;

/**
 * Lists the contacts of lists with the content that they would be sent. `text`, `rcsValues` and `whatsappValues` are
 * expressions over contact `c`, made by src/engagement/campaigns/text/sql.ts.
 */
export const listTestRecipients = (
  db: Db,
  input: Of & Expressions & { listIds: readonly number[]; limit: number },
): Promise<TestRecipient[]> =>
  many(
    db,
    sql`SELECT ${testRecipient(input)}
        FROM contact c
        WHERE c.account_id = ${input.accountId} AND c.phone_number IS NOT NULL AND c.id IN (
          SELECT m.contact_id FROM contact_list_member m
          WHERE m.account_id = ${input.accountId} AND m.list_id = ANY(${plainArray(input.listIds)}::bigint[]))
        ORDER BY c.phone_number LIMIT ${input.limit}`,
  );
