import type { Receipt } from '../../carriers/events.ts';
import { bareId, spellings } from '../../carriers/smpp/receipts.ts';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { listByCarrierIds, type SpelledId } from '../messages/carrier-ids/sql.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';

/** Most receipts arrive within hours. Searching these first keeps the partitions of other days out of the plan. */
const RECENT_MS = 6 * HOUR_MS;
const EVER = firstIdAt(new Date(0));

/** What a receipt reports on: a message or a part of one, none, or one of several. */
export type Match =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: number | null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'ambiguous' };

/**
 * Finds the messages that receipts of one connection report on, in the order of the receipts. It searches recent
 * messages for the id exactly as spelled, and then, for the remaining receipts, all messages for every spelling (any
 * case, any leading zeros, hex and decimal). When two messages fit, the match is ambiguous.
 */
export async function matchReceipts(
  db: Db,
  connectionId: number,
  receipts: readonly Receipt[],
  now: Date,
): Promise<Match[]> {
  const lastId = firstIdAt(new Date(now.getTime() + HOUR_MS));
  const recent = { connectionId, firstId: firstIdAt(new Date(now.getTime() - RECENT_MS)), lastId };
  const ids = receipts.map((receipt) => receipt.carrierIds);
  const exact = await matchBy(
    db,
    recent,
    ids.map((some) => some.map((id) => ({ bare: bareId(id), exact: id }))),
  );
  const rest = ids.filter((_, i) => exact[i]?.kind === 'unknown');
  if (rest.length === 0) return exact;
  const ever = { connectionId, firstId: EVER, lastId };
  const spelled = await matchBy(
    db,
    ever,
    rest.map((some) => some.flatMap(spellings).map((bare) => ({ bare, exact: null }))),
  );
  let next = 0;
  return exact.map((match) => (match.kind === 'unknown' ? (spelled[next++] as Match) : match));
}

/** Finds the message that each list of ids belongs to. */
async function matchBy(
  db: Db,
  range: { connectionId: number; firstId: string; lastId: string },
  idLists: readonly (readonly SpelledId[])[],
): Promise<Match[]> {
  const matches = idLists.map(() => UNKNOWN);
  const listOf = idLists.flatMap((ids, i) => ids.map(() => i));
  for (const [n, accountId, messageId, part] of await listByCarrierIds(db, { ...range, carrierIds: idLists.flat() })) {
    const i = listOf[n] ?? 0;
    matches[i] = combine(matches[i], { kind: 'hit', accountId, messageId, part });
  }
  return matches;
}

const UNKNOWN: Match = { kind: 'unknown' };
const AMBIGUOUS: Match = { kind: 'ambiguous' };

/**
 * Combines two matches of one receipt, which must agree on the message. When a message of unknown outcome was sent
 * again, one id may be its own and the other that of its first part.
 */
function combine(a: Match = UNKNOWN, b: Match = UNKNOWN): Match {
  if (a.kind === 'unknown' || b.kind === 'ambiguous') return b;
  if (b.kind === 'unknown' || a.kind === 'ambiguous') return a;
  if (a.messageId !== b.messageId || a.accountId !== b.accountId) return AMBIGUOUS;
  if (a.part === b.part) return a;
  if (a.part === null) return a;
  return b.part === null ? b : AMBIGUOUS;
}
