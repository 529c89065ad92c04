import { spellings } from '../carriers/smpp/receipts.ts';
import type { Db } from '../db/query.ts';
import { firstIdAt } from '../lib/ids.ts';
import { type CarrierIdHit, listByCarrierIds } from '../messages/sql.ts';
import type { StoredReceipt } from './sql.ts';

const HOUR_MS = 3_600_000;
/** Most receipts come within hours: looking there first keeps the partitions of other days out of the plan. */
const RECENT_MS = 6 * HOUR_MS;
const EVER = firstIdAt(new Date(0));

export type Match =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: number | null }
  | { readonly kind: 'unknown' | 'ambiguous' };

/**
 * Finds the messages that receipts of one connection speak of, in order. First by the id exactly as spelled among
 * recent messages, then, for the rest, in every spelling (upper case, zeros stripped, hex and decimal) among all.
 * When two messages fit it refuses to guess.
 */
export async function matchReceipts(
  db: Db,
  connectionId: number,
  receipts: readonly StoredReceipt[],
  now: Date,
): Promise<Match[]> {
  const lastId = firstIdAt(new Date(now.getTime() + HOUR_MS));
  const recent = { connectionId, firstId: firstIdAt(new Date(now.getTime() - RECENT_MS)), lastId };
  const exact = await matchBy(db, recent, receipts, (receipt) => receipt.carrierIds);
  const rest = receipts.filter((_, i) => exact[i]?.kind === 'unknown');
  if (rest.length === 0) return exact;
  const ever = { connectionId, firstId: EVER, lastId };
  const spelled = await matchBy(db, ever, rest, (receipt) => receipt.carrierIds.flatMap(spellings));
  let next = 0;
  return exact.map((match) => (match.kind === 'unknown' ? (spelled[next++] as Match) : match));
}

async function matchBy(
  db: Db,
  look: { connectionId: number; firstId: string; lastId: string },
  receipts: readonly StoredReceipt[],
  idsOf: (receipt: StoredReceipt) => readonly string[],
): Promise<Match[]> {
  const carrierIds = [...new Set(receipts.flatMap(idsOf))];
  const hits = new Map<string, CarrierIdHit[]>();
  for (const hit of await listByCarrierIds(db, { ...look, carrierIds })) {
    const same = hits.get(hit.carrierId);
    if (same) same.push(hit);
    else hits.set(hit.carrierId, [hit]);
  }
  return receipts.map((receipt) => decide(idsOf(receipt).flatMap((id) => hits.get(id) ?? [])));
}

function decide(hits: readonly CarrierIdHit[]): Match {
  const [first] = hits;
  if (first === undefined) return { kind: 'unknown' };
  const same = hits.every((hit) => hit.id === first.id && hit.part === first.part && hit.accountId === first.accountId);
  return same
    ? { kind: 'hit', accountId: first.accountId, messageId: first.id, part: first.part }
    : { kind: 'ambiguous' };
}
