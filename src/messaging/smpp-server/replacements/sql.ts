import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type Key = { readonly accountId: number; readonly id: string };

/** Finds the replacement of a message; undefined when it was not replaced. */
export async function findReplacement(db: Db, { accountId, id }: Key): Promise<string | undefined> {
  const row = await maybeOne<{ replacedBy: string }>(
    db,
    sql`SELECT replaced_by AS "replacedBy" FROM smpp_replacement WHERE account_id = ${accountId} AND message_id = ${id}`,
  );
  return row?.replacedBy;
}

/** Records the replacement of a message, or of its previous replacements. */
export const insertReplacement = (
  db: Db,
  { accountId, id, replacedBy }: Key & { readonly replacedBy: string },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO smpp_replacement (account_id, message_id, replaced_by) VALUES (${accountId}, ${id}, ${replacedBy})
        ON CONFLICT (account_id, message_id) DO UPDATE SET replaced_by = EXCLUDED.replaced_by`,
  );

const REPLACEABLE = columns({
  /** The requested sender: a rule may have replaced it, and does so again. */
  sender: as<string>('coalesce(m.asked_sender, m.sender)'),
  destination: as<string>('m.destination'),
  /** The coding of its text in the submit; null: it was not submitted over SMPP. */
  dataCoding: as<number | null>('m.data_coding'),
  /** True if it is a part, or not a text. */
  hasOctets: as<boolean>('(m.udh IS NOT NULL OR m.binary_body IS NOT NULL)'),
  validUntil: as<Date | null>('m.valid_until'),
  scheduledAt: as<Date | null>('m.scheduled_at'),
  shownId: as<string | null>('r.shown_id'),
  reference: as<number | null>('r.reference'),
  sourceTon: as<number | null>('r.source_ton'),
  sourceNpi: as<number | null>('r.source_npi'),
  source: as<string | null>('r.source'),
  destTon: as<number | null>('r.dest_ton'),
  destNpi: as<number | null>('r.dest_npi'),
  submittedTo: as<string | null>('r.destination'),
});
/** Fields that a replacement inherits from a message: the rest null if it requested no receipts. */
export type Replaceable = RowOf<typeof REPLACEABLE>;

export const findReplaceable = (db: Db, { accountId, id }: Key): Promise<Replaceable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${REPLACEABLE} FROM message m
        LEFT JOIN smpp_receipt r ON r.account_id = m.account_id AND r.message_id = m.id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );
