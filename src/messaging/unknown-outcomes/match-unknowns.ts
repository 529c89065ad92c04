import type { Receipt } from '../../carriers/events.ts';
import { bareId, spellings } from '../../carriers/smpp/receipts.ts';
import type { Db } from '../../platform/db/query.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { deleteUnknowns } from '../messages/unknown/sql.ts';
import * as db from './sql.ts';

/** A receipt whose carrier id fits no message. */
export type Stray = { readonly receipt: Receipt; readonly receivedAt: Date };

/** The message of a stray receipt: one of unknown outcome, none, or one of several. */
export type UnknownMatch =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'ambiguous' };

const UNKNOWN: UnknownMatch = { kind: 'unknown' };
const AMBIGUOUS: UnknownMatch = { kind: 'ambiguous' };

/** Returns the digits of a number with its country code, in whichever form the carrier writes it. */
const digitsOf = (number: string): string => number.replace(/\D/g, '').replace(/^00/, '');

const toAddressed = ({ receipt: { destination, sender }, receivedAt }: Stray): db.Addressed => ({
  destination: digitsOf(destination),
  sender: sender.replace(/^\+/, '').toLowerCase(),
  receivedAt,
});

/**
 * Finds the messages of unknown outcome that stray receipts of one connection settle, in the order of the receipts, and
 * gives them the receipts' carrier ids.
 *
 * A receipt settles an unknown outcome when that is the only submit without an id that it can report on. So for every
 * other message to the number it must be known whether the carrier has it and under which id: a message that was on its
 * way when the receipt came has been recorded by the time `isStray` asks again, and the second search finds all the
 * others.
 *
 * @param isStray asks, after the first search, whether the ids of these receipts still fit no message
 */
export async function matchUnknowns(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  isStray: (receipts: readonly Receipt[]) => Promise<readonly boolean[]>,
): Promise<UnknownMatch[]> {
  const receipts = strays.map(toAddressed);
  const first = await search(tx, connectionId, strays, receipts);
  if (!first.some((match) => match.kind === 'hit')) return first;
  const inFlight = await db.listInFlight(tx, { connectionId, receipts });
  const stray = await isStray(strays.map(({ receipt }) => receipt));
  const last = await search(tx, connectionId, strays, receipts);
  const matches = last.map((match, i) => (inFlight.has(i) || stray[i] !== true ? UNKNOWN : match));
  return assignCarrierIds(tx, connectionId, strays, matches);
}

/** Searches the submits without a carrier id for those that the receipts can report on. */
async function search(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  receipts: readonly db.Addressed[],
): Promise<UnknownMatch[]> {
  const candidates = Map.groupBy(await db.listCandidates(tx, { connectionId, receipts }), ({ n }) => n);
  const matches = strays.map(({ receipt }, n) => onlyMatch(candidates.get(n) ?? [], receipt));
  return settleContests(strays, matches);
}

/**
 * Returns the match when exactly one candidate fits. Some networks return our own id, which names that message. Parts
 * of a long message have separate receipts, so without our id it cannot be known which part a receipt reports on.
 */
function onlyMatch(candidates: readonly db.Candidate[], { carrierIds }: Receipt): UnknownMatch {
  const own = candidates.filter(({ messageId }) => carrierIds.includes(messageId));
  const isNamed = carrierIds.some(isOurs);
  const [one, another] = isNamed ? own : candidates;
  if (one === undefined) return UNKNOWN;
  if (another !== undefined || !one.open || (one.parts > 1 && !isNamed)) return AMBIGUOUS;
  return { kind: 'hit', accountId: one.accountId, messageId: one.messageId, part: null };
}

/** True if an id is a UUIDv7. No carrier makes such ids, so it is one of ours that a network returned. */
const isOurs = (id: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id);

const idOf = ({ receipt }: Stray): string => receipt.carrierIds[0] ?? '';

/**
 * Makes matches ambiguous if several receipts match one message under different ids: at most one of them can be right.
 * A receipt that carries our own id of the message is right, and excludes the others.
 */
function settleContests(strays: readonly Stray[], matches: readonly UnknownMatch[]): UnknownMatch[] {
  const hits = matches.flatMap((match, i) => {
    const stray = strays[i];
    return match.kind === 'hit' && stray ? [{ i, messageId: match.messageId, stray }] : [];
  });
  const right = new Set<number>();
  for (const [messageId, rivals] of Map.groupBy(hits, (hit) => hit.messageId)) {
    const named = rivals.filter(({ stray }) => stray.receipt.carrierIds.includes(messageId));
    const candidates = named.length > 0 ? named : rivals;
    if (haveOneId(candidates.map(({ stray }) => idOf(stray)))) for (const { i } of candidates) right.add(i);
  }
  return matches.map((match, i) => (match.kind === 'hit' && !right.has(i) ? AMBIGUOUS : match));
}

function haveOneId([first = '', ...others]: readonly string[]): boolean {
  const known = spellings(first);
  return others.every((id) => known.includes(bareId(id)));
}

/**
 * Gives matched messages the carrier ids of their receipts. The conditional update decides: of two workers with
 * receipts for one message, the second finds that the message has an id already.
 */
async function assignCarrierIds(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  matches: readonly UnknownMatch[],
): Promise<UnknownMatch[]> {
  const wanted = new Map(
    matches.flatMap((match, i) => {
      const stray = strays[i];
      return match.kind === 'hit' && stray ? [[match.messageId, { ...match, carrierId: idOf(stray) }] as const] : [];
    }),
  );
  if (wanted.size === 0) return [...matches];
  const moved = await db.moveToAccepted(tx, [...wanted.values()]);
  const settled = [...wanted.values()].filter(({ messageId }) => moved.has(messageId));
  if (settled.length > 0) await deleteUnknowns(tx, settled);
  await insertEvents(
    tx,
    settled.map(({ accountId, messageId, carrierId }) => ({
      accountId,
      messageId,
      connectionId,
      kind: 'settled',
      text: 'by a receipt that can belong to no other message',
      details: { carrierIds: [carrierId] },
    })),
  );
  return matches.map((match) => (match.kind === 'hit' && !moved.has(match.messageId) ? UNKNOWN : match));
}
