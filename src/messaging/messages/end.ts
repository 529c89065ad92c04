import { recordCampaignEnds } from './campaign-ends/record.ts';
import type { CampaignEnds } from './campaign-ends/sql.ts';
import { settleFrozen } from '../../money/credit/charge.ts';
import type { Db } from '../../platform/db/query.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { countTraffic } from '../traffic/count.ts';
import { countMargins } from '../traffic/margins/count.ts';
import { listEarningPlaces } from '../traffic/margins/sql.ts';
import { moveToNameless } from './unknown/sql.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { updateFallbacksDueNow } from './fallback/sql.ts';
import { type EndGroup, figuresOfEnds, figuresOfReads } from './figures.ts';
import { marginsOfEarnings } from './margins.ts';
import { STATUS } from '../states.ts';
import { publishFinalStates } from './publish-events.ts';
import * as db from './sql.ts';

type Options = {
  /**
   * Messages that people have read. Each occurs once and is among the moves to DELIVERED as well, in the same order, so
   * that two transactions with the same messages never wait for each other.
   */
  readonly reads?: readonly db.MessageRead[];
  /** False for simulated messages, which the hourly figures do not count. */
  readonly counted?: boolean;
};

/**
 * Moves messages to their final state in the caller's transaction, forward only. It removes them from the list of
 * unknown outcomes, settles their frozen prices, counts them in the hourly figures, publishes them to webhooks, and
 * informs combined campaigns and the fallback to another channel.
 *
 * Each message may occur once in a call. Call it once in a transaction and last, because rows that many transactions
 * need (the figures, the balance of the account) are locked from here to the commit.
 *
 * @returns the ids of the messages that stayed as they were because they had a final state already
 */
export async function endMessages(
  tx: Db,
  moves: readonly db.StateMove[],
  { reads = [], counted = true }: Options = {},
): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const { special, read } = await moveAll(tx, moves, reads);
  const held = movesOf(special.filter((group) => group.held));
  const doubtful = movesOf(special.filter(mayBeInDoubt));
  const { earned, returned, kept } = await billsOf(tx, held);
  const free = [...returned, ...kept];
  const stayed = new Set(movesOf(special.filter(({ moved }) => !moved)).map(({ id }) => id));
  await Promise.all([
    insertEvents(tx, special.flatMap(toReplaced)),
    publishFinalStates(tx, moves, { stayed, read }),
    recordCampaignEnds(tx, special.flatMap(toCampaignEnds)),
    updateFallbacksDueNow(tx, movesOf(special.filter(mayHaveFallback))),
    ...(free.length > 0 ? [db.updateReturned(tx, free)] : []),
    ...(counted ? [countTraffic(tx, [...figuresOfEnds(moves, special, earned), ...figuresOfReads(read)])] : []),
    ...(doubtful.length > 0
      ? [
          moveToNameless(
            tx,
            doubtful.map((move) => ({ ...move, messageId: move.id })),
          ),
        ]
      : []),
  ]);
  if (counted && earned.length > 0) await countEarnings(tx, earned);
  await settleFrozen(tx, { earned, returned, reference: held[0]?.id ?? '' });
  return stayed;
}

async function moveAll(tx: Db, moves: readonly db.StateMove[], reads: readonly db.MessageRead[]) {
  const [firstId, lastId] = boundsOf(moves.map((move) => move.id));
  const groups = await db.moveStates(tx, { moves, firstId, lastId });
  const read = reads.length > 0 ? await db.updateReadTimes(tx, { reads, firstId, lastId }) : [];
  return { special: groups.map((group) => toEndGroup(moves, group)), read };
}

const toEndGroup = (all: readonly db.StateMove[], group: db.MoveGroup): EndGroup => ({
  ...group,
  moves: group.places.map((n) => all[n] as db.StateMove),
});

const movesOf = (special: readonly EndGroup[]): db.StateMove[] => special.flatMap(({ moves }) => moves);

/**
 * Records that the carrier delivered messages that we had given up, because their states no longer hold the former end.
 */
function toReplaced({ moves, expiredAt: at }: EndGroup): NewEvent[] {
  if (at === null) return [];
  const details = { status: STATUS.EXPIRED, code: db.EXPIRED_BY_US };
  return moves.map(({ accountId, id }) => ({
    accountId,
    messageId: id,
    kind: 'replaced',
    connectionId: null,
    text: null,
    details,
    at,
  }));
}

/**
 * True if messages may be on the list of unknown outcomes: never answered, or RCS messages that may have been revoked.
 */
const mayBeInDoubt = ({ moved, held, channel }: EndGroup): boolean => held || (moved && channel === bitOf('RCS'));

/** True if messages are single sends on a channel that may have a fallback. */
const mayHaveFallback = ({ moved, channel, campaignId }: EndGroup): boolean =>
  moved && campaignId === null && channel !== bitOf('SMS');

/**
 * The first final state of each message. One that we gave up while a carrier may have it counts as UNKNOWN, because no
 * other message may follow it.
 */
function toCampaignEnds({ moves, moved, expiredAt, wasSent, campaignId }: EndGroup): CampaignEnds[] {
  if (!moved || campaignId === null || expiredAt !== null) return [];
  const isInDoubt = ({ errorCode }: db.StateMove): boolean => wasSent && errorCode === db.EXPIRED_BY_US;
  return [
    {
      accountId: moves[0]?.accountId ?? 0,
      campaignId,
      messageIds: moves.map(({ id }) => id),
      statuses: moves.map((move) => (isInDoubt(move) ? STATUS.UNKNOWN : move.status)),
    },
  ];
}

/** Adds prices that are earned only now to the margins. Call it after `countTraffic`, as where outcomes are settled. */
async function countEarnings(tx: Db, earned: readonly Bill[]): Promise<void> {
  const places = await listEarningPlaces(tx, { keys: earned });
  await countMargins(tx, marginsOfEarnings(earned, places));
}

/**
 * True if a price that was still frozen when the message reached this final state is earned: the message was delivered,
 * or it was not and its price is not refundable. A non-refundable price is for handing over, so it is earned whatever a
 * receipt states, just as if the outcome had never been in doubt. A message that was never confirmed in time is free.
 */
const isEarned = ({ status, isReported }: db.StateMove, refundUndelivered: boolean): boolean =>
  status === STATUS.DELIVERED || (!refundUndelivered && (isReported === true || status === STATUS.UNDELIVERABLE));

/** The price of a message, to be earned or returned. */
export type Bill = { readonly accountId: number; readonly id: string; readonly micros: number };

/** Frozen prices, grouped by their destination. */
type Bills = {
  readonly earned: Bill[];
  /** Prices that go back to their accounts. */
  readonly returned: Bill[];
  /** Prices that go back to the reserves of their campaigns. */
  readonly kept: Bill[];
};

/** Divides the frozen prices of messages into returned, kept and earned ones. */
async function billsOf(tx: Db, held: readonly db.StateMove[]): Promise<Bills> {
  if (held.length === 0) return { earned: [], returned: [], kept: [] };
  const moveOf = new Map(held.map((move) => [move.id, move]));
  const bills: Bills = { earned: [], returned: [], kept: [] };
  for (const { accountId, id, priceMicros: micros, refundUndelivered, keepsReserve } of await db.listCharges(
    tx,
    held,
  )) {
    const move = moveOf.get(id);
    const isDue = move !== undefined && isEarned(move, refundUndelivered);
    const pile = isDue ? bills.earned : keepsReserve ? bills.kept : bills.returned;
    pile.push({ accountId, id, micros });
  }
  return bills;
}
