import type { Receipt } from '../../carriers/events.ts';
import { bareId, spellings } from '../../carriers/smpp/receipts.ts';
import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { listByCarrierIds, listNumbers, type SpelledId } from '../messages/carrier-ids/sql.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';

/**
 * Most receipts arrive within hours. Searching the messages of these first keeps the partitions of other days out of
 * the plan.
 */
const RECENT_MS = 6 * HOUR_MS;
const EVER = firstIdAt(new Date(0));

/** The message of a receipt: a message or a part of one, none, or one of several. */
export type Match = Hit | { readonly kind: 'unknown' } | { readonly kind: 'ambiguous' };
type Hit = {
  readonly kind: 'hit';
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
};

/**
 * Finds the messages that receipts of one connection report on, in the order of the receipts. It searches recent
 * messages for the id exactly as spelled, and then, for the remaining receipts, all messages for every spelling (any
 * case, any leading zeros, hex and decimal). When several messages fit, as after an SMSC has restarted its count, the
 * one that was sent to the number of the receipt is meant; if that is none or several, the match is ambiguous.
 */
export async function matchReceipts(
  db: Db,
  connectionId: number,
  receipts: readonly Receipt[],
  now: Date,
): Promise<Match[]> {
  const lastId = firstIdAt(new Date(now.getTime() + HOUR_MS));
  const recent = { connectionId, firstId: firstIdAt(new Date(now.getTime() - RECENT_MS)), lastId };
  const exact = await matchBy(db, recent, receipts, (id) => [{ bare: bareId(id), exact: id }]);
  const rest = receipts.filter((_, i) => exact[i]?.kind === 'unknown');
  if (rest.length === 0) return exact;
  const ever = { connectionId, firstId: EVER, lastId };
  const spelled = await matchBy(db, ever, rest, (id) => spellings(id).map((bare) => ({ bare, exact: null })));
  let next = 0;
  return exact.map((match) => (match.kind === 'unknown' ? (spelled[next++] as Match) : match));
}

/** Finds the message that each receipt reports on, by its ids in these spellings. */
async function matchBy(
  db: Db,
  range: { connectionId: number; firstId: string; lastId: string },
  receipts: readonly Receipt[],
  spell: (id: string) => SpelledId[],
): Promise<Match[]> {
  const idLists = receipts.map(({ carrierIds }) => carrierIds.flatMap(spell));
  const hits: Hit[][] = idLists.map(() => []);
  const listOf = idLists.flatMap((ids, i) => ids.map(() => i));
  for (const [n, accountId, messageId, part] of await listByCarrierIds(db, { ...range, carrierIds: idLists.flat() }))
    hits[listOf[n] ?? 0]?.push({ kind: 'hit', accountId, messageId, part });
  const matches = hits.map(combineAll);
  const contested = hits.flatMap((some, i) => (matches[i] === AMBIGUOUS ? some : []));
  if (contested.length === 0) return matches;
  const numbers = await listNumbers(
    db,
    contested.map(({ accountId, messageId }) => ({ accountId, id: messageId })),
  );
  const numberOf = new Map(numbers.map(([accountId, id, number]) => [`${accountId} ${id}`, number]));
  return matches.map((match, i) => {
    if (match !== AMBIGUOUS) return match;
    const sentThere = ({ accountId, messageId }: Hit): boolean =>
      isSameNumber(numberOf.get(`${accountId} ${messageId}`) ?? '', receipts[i]?.destination ?? '');
    const meant = combineAll((hits[i] ?? []).filter(sentThere));
    return meant.kind === 'hit' ? meant : AMBIGUOUS;
  });
}

/** Minimum digits to compare: many numbers end with the same few digits. */
const MIN_DIGITS = 7;

/** True if two spellings can mean one number: with and without its country code, or with a zero replacing it. */
function isSameNumber(a: string, b: string): boolean {
  const [one, other] = [a, b].map((number) => number.replace(/\D/g, '').replace(/^0{1,2}/, ''));
  const [short = '', long = ''] = [one, other].toSorted((x = '', y = '') => x.length - y.length);
  return short.length >= MIN_DIGITS && long.endsWith(short);
}

const UNKNOWN: Match = { kind: 'unknown' };
const AMBIGUOUS: Match = { kind: 'ambiguous' };

const combineAll = (hits: readonly Hit[]): Match => hits.reduce<Match>(combine, UNKNOWN);

/**
 * Combines two matches of one receipt, which must agree on the message. When a message of unknown outcome was sent
 * again, one id may be its own and the other that of its first part.
 */
function combine(a: Match, b: Match): Match {
  if (a.kind === 'unknown' || b.kind === 'ambiguous') return b;
  if (b.kind === 'unknown' || a.kind === 'ambiguous') return a;
  if (a.messageId !== b.messageId || a.accountId !== b.accountId) return AMBIGUOUS;
  if (a.part === b.part) return a;
  if (a.part === null) return a;
  return b.part === null ? b : AMBIGUOUS;
}
