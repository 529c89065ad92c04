import type { Receipt } from '../../carriers/events.ts';
import { bareId, spellings } from '../../carriers/smpp/receipts.ts';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { listByCarrierIds, type SpelledId } from '../messages/carrier-ids/sql.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';

/** Most receipts come within hours: looking there first keeps the partitions of other days out of the plan. */
const RECENT_MS = 6 * HOUR_MS;
const EVER = firstIdAt(new Date(0));

export type Match =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: number | null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'ambiguous' };

/**
 * Finds the messages that receipts of one connection speak of, in order. First by the id exactly as spelled among
 * recent messages, then, for the rest, in every spelling (any case, any zeros in front, hex and decimal) among all.
 * When two messages fit it refuses to guess.
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

/** For each list of ids, the message that they speak of. */
async function matchBy(
  db: Db,
  look: { connectionId: number; firstId: string; lastId: string },
  idLists: readonly (readonly SpelledId[])[],
): Promise<Match[]> {
  const matches = idLists.map(() => UNKNOWN);
  const listOf = idLists.flatMap((ids, i) => ids.map(() => i));
  for (const [n, accountId, messageId, part] of await listByCarrierIds(db, { ...look, carrierIds: idLists.flat() })) {
    const i = listOf[n] ?? 0;
    matches[i] = agreed(matches[i], { kind: 'hit', accountId, messageId, part });
  }
  return matches;
}

const UNKNOWN: Match = { kind: 'unknown' };
const AMBIGUOUS: Match = { kind: 'ambiguous' };

/**
 * Both, when they do not speak of different messages: of a message that was in doubt and sent again, one id may be its own
 * and the other that of its first part.
 */
function agreed(a: Match = UNKNOWN, b: Match = UNKNOWN): Match {
  if (a.kind === 'unknown' || b.kind === 'ambiguous') return b;
  if (b.kind === 'unknown' || a.kind === 'ambiguous') return a;
  if (a.messageId !== b.messageId || a.accountId !== b.accountId) return AMBIGUOUS;
  if (a.part === b.part) return a;
  if (a.part === null) return a;
  return b.part === null ? b : AMBIGUOUS;
}
