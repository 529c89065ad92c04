import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type Key = { readonly accountId: number; readonly id: string };

/** Finds the message that was sent in the place of this one; undefined when it was not replaced. */
export async function findReplacement(db: Db, { accountId, id }: Key): Promise<string | undefined> {
  const row = await maybeOne<{ replacedBy: string }>(
    db,
    sql`SELECT replaced_by AS "replacedBy" FROM smpp_replacement WHERE account_id = ${accountId} AND message_id = ${id}`,
  );
  return row?.replacedBy;
}

/** Records the message that is sent in the place of this one, or of those that were in its place before. */
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
  /** As it was asked for: a rule may have put another one in its place, and does so again. */
  sender: as<string>('coalesce(m.asked_sender, m.sender)'),
  destination: as<string>('m.destination'),
  /** How its text was coded in the submit; null: it did not come by SMPP. */
  dataCoding: as<number | null>('m.data_coding'),
  /** Whether it is a part, or no text. */
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
/** What a replacement takes over from a message: the rest null where it asked for no receipts. */
export type Replaceable = RowOf<typeof REPLACEABLE>;

export const findReplaceable = (db: Db, { accountId, id }: Key): Promise<Replaceable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${REPLACEABLE} FROM message m
        LEFT JOIN smpp_receipt r ON r.account_id = m.account_id AND r.message_id = m.id
        WHERE m.account_id = ${accountId} AND m.id = ${id}`,
  );
