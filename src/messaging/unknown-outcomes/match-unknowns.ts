import type { Receipt } from '../../carriers/events.ts';
import { bareId, spellings } from '../../carriers/smpp/receipts.ts';
import type { Db } from '../../platform/db/query.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { deleteUnknowns } from '../messages/unknown/sql.ts';
import * as db from './sql.ts';

/** A receipt whose id fits no message. */
export type Stray = { readonly receipt: Receipt; readonly receivedAt: Date };

export type UnknownMatch =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'ambiguous' };

const UNKNOWN: UnknownMatch = { kind: 'unknown' };
const AMBIGUOUS: UnknownMatch = { kind: 'ambiguous' };

/** Numbers with all their digits, whichever way the carrier writes that they are. */
const digitsOf = (number: string): string => number.replace(/\D/g, '').replace(/^00/, '');

const toAddressed = ({ receipt: { destination, sender }, receivedAt }: Stray): db.Addressed => ({
  destination: digitsOf(destination),
  sender: sender.replace(/^\+/, '').toLowerCase(),
  receivedAt,
});

/**
 * Finds the open unknowns that stray receipts of one connection settle, in order, and gives them the receipts' ids.
 *
 * A receipt settles an unknown when that is the one submit without an id that it can speak of. So it must be known of
 * every other message to the number whether and under which id the carrier has it: what was on its way when the receipt
 * came has been recorded by the time that `isStray` asks again, and the last look at the candidates sees all the rest.
 *
 * @param isStray asks, after the first looks, whether the ids of these receipts still fit no message
 */
export async function matchUnknowns(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  isStray: (receipts: readonly Receipt[]) => Promise<readonly boolean[]>,
): Promise<UnknownMatch[]> {
  const receipts = strays.map(toAddressed);
  const first = await judge(tx, connectionId, strays, receipts);
  if (!first.some((named) => named.kind === 'hit')) return first;
  const inFlight = await db.listInFlight(tx, { connectionId, receipts });
  const stray = await isStray(strays.map(({ receipt }) => receipt));
  const last = await judge(tx, connectionId, strays, receipts);
  const named = last.map((one, i) => (inFlight.has(i) || stray[i] !== true ? UNKNOWN : one));
  return claim(tx, connectionId, strays, named);
}

async function judge(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  receipts: readonly db.Addressed[],
): Promise<UnknownMatch[]> {
  const candidates = Map.groupBy(await db.listCandidates(tx, { connectionId, receipts }), ({ n }) => n);
  const named = strays.map(({ receipt }, n) => theOne(candidates.get(n) ?? [], receipt));
  const contested = contestedIn(strays, named);
  return named.map((one) => (one.kind === 'hit' && contested.has(one.messageId) ? AMBIGUOUS : one));
}

/**
 * Some networks give our own id back: then it is that message and no other. Parts of a long message have receipts of
 * their own, so nobody can tell which one this is.
 */
function theOne(candidates: readonly db.Candidate[], { carrierIds }: Receipt): UnknownMatch {
  const own = candidates.filter(({ messageId }) => carrierIds.includes(messageId));
  const [one, another] = carrierIds.some(isOurs) ? own : candidates;
  if (one === undefined) return UNKNOWN;
  if (another !== undefined || !one.open || one.parts > 1) return AMBIGUOUS;
  return { kind: 'hit', accountId: one.accountId, messageId: one.messageId, part: null };
}

/** A UUIDv7: no carrier makes such ids, so it is one of ours that a network gave back. */
const isOurs = (id: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id);

const idOf = ({ receipt }: Stray): string => receipt.carrierIds[0] ?? '';

/** The messages that receipts of different ids want: at most one of them can be right. */
function contestedIn(strays: readonly Stray[], named: readonly UnknownMatch[]): Set<string> {
  const ids = new Map<string, string>();
  const contested = new Set<string>();
  named.forEach((one, i) => {
    const stray = strays[i];
    if (one.kind !== 'hit' || stray === undefined) return;
    const known = ids.get(one.messageId) ?? idOf(stray);
    if (!spellings(known).includes(bareId(idOf(stray)))) contested.add(one.messageId);
    ids.set(one.messageId, known);
  });
  return contested;
}

/** The conditional update decides: of two workers with receipts for one message, one finds it named already. */
async function claim(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  named: readonly UnknownMatch[],
): Promise<UnknownMatch[]> {
  const wanted = new Map(
    named.flatMap((one, i) => {
      const stray = strays[i];
      return one.kind === 'hit' && stray ? [[one.messageId, { ...one, carrierId: idOf(stray) }] as const] : [];
    }),
  );
  if (wanted.size === 0) return [...named];
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
      text: 'by a receipt that can mean no other message',
      details: { carrierIds: [carrierId] },
    })),
  );
  return named.map((one) => (one.kind === 'hit' && !moved.has(one.messageId) ? UNKNOWN : one));
}
