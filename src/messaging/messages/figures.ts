import type { Result } from '../../network/dispatch/commit.ts';
import { bitOf, type Channel } from '../../platform/lib/channel.ts';
import type { TrafficDelta } from '../traffic/count.ts';
import { EXPIRED_BY_US, type StateMove } from './sql.ts';
import { STATUS } from '../states.ts';

/** Moves with the facts that they have in common (`moveStates`). */
export type EndGroup = {
  /** The places of the moves among all moves. */
  readonly places: readonly number[];
  readonly moves: readonly StateMove[];
  readonly moved: boolean;
  readonly held: boolean;
  readonly expiredAt: Date | null;
  readonly wasSent: boolean;
  readonly channel: number;
  readonly campaignId: number | null;
};

type Earned = { readonly id: string; readonly micros: number };

const SMS = bitOf('SMS');

/**
 * Returns the additions of final states to the hourly figures. All moves but the special ones belong to SMS that were
 * sent and have no campaign.
 */
export function figuresOfEnds(
  moves: readonly StateMove[],
  special: readonly EndGroup[],
  earned: readonly Earned[],
): TrafficDelta[] {
  const isSpecial = new Uint8Array(moves.length);
  for (const { places } of special) for (const n of places) isSpecial[n] = 1;
  const costs = new Map(earned.map(({ id, micros }) => [id, micros]));
  const deltas: TrafficDelta[] = [];
  moves.forEach(({ accountId, id, status }, n) => {
    if (isSpecial[n] === 0) deltas.push(plain(accountId, id, status));
  });
  for (const group of special)
    if (group.moved) for (const move of group.moves) deltas.push(toDelta(group, move, costs.get(move.id)));
  return deltas;
}

/**
 * Makes a plain delta, as nearly all moves need. The objects are written out because a spread costs measurable CPU
 * time.
 */
const plain = (accountId: number, id: string, status: number): TrafficDelta =>
  status === STATUS.DELIVERED
    ? { accountId, id, campaignId: null, channel: SMS, delivered: 1 }
    : { accountId, id, campaignId: null, channel: SMS, failed: 1 };

function toDelta({ expiredAt, wasSent, channel, campaignId }: EndGroup, move: StateMove, costMicros = 0): TrafficDelta {
  const { accountId, id, status, errorCode: code } = move;
  const delivered = status === STATUS.DELIVERED;
  const counted = delivered ? { delivered: 1 } : { failed: 1, reason: { status, code } };
  const first = { accountId, id, campaignId, channel, costMicros, ...counted };
  // A message that was delivered was sent, although we have no record of a submit.
  if (expiredAt === null) return wasSent ? first : { ...first, ...(delivered ? { sent: 1 } : { unsent: 1 }) };
  return { ...first, failed: -1, reason: GIVEN_UP, ...(wasSent ? {} : { sent: 1, unsent: -1 }) };
}

/** The reason under which a message was counted that our own timer had ended. */
const GIVEN_UP = { status: STATUS.EXPIRED, code: EXPIRED_BY_US };

type Read = Pick<TrafficDelta, 'accountId' | 'id' | 'campaignId' | 'channel'>;

/** Returns the additions of read messages to the hourly figures. */
export const figuresOfReads = (read: readonly Read[]): TrafficDelta[] =>
  read.map(({ accountId, id, campaignId, channel }) => ({ accountId, id, campaignId, channel, read: 1 }));

/** Properties of a message that states and figures copy. */
export type Traits = {
  readonly channel: Channel;
  readonly campaignId: number | null;
  readonly destination: string;
  readonly parts: number;
  /** MCC and MNC of the network of its number; null or omitted if unknown. */
  readonly network?: string | null;
};

/** Effect of an outcome on a message's price; `held`: it is still open. */
export type Settlement = 'held' | 'earned' | 'returned';

/**
 * Returns the addition of a recorded outcome to the hourly figures, `sent` of it to the sent messages; null when it
 * adds nothing.
 */
export function figureOfOutcome(
  { accountId, messageId, outcome, job }: Result,
  { channel, campaignId }: Traits,
  { sent, settlement }: { readonly sent: number; readonly settlement: Settlement },
): TrafficDelta | null {
  if (outcome.kind === 'retry' && sent === 0) return null;
  return {
    accountId,
    id: messageId,
    campaignId,
    channel: bitOf(channel),
    sent,
    failed: outcome.kind === 'refused' ? 1 : 0,
    reason: outcome.kind === 'refused' ? { status: STATUS[outcome.status], code: outcome.code } : undefined,
    costMicros: settlement === 'earned' ? (job?.priceMicros ?? 0) : 0,
  };
}
