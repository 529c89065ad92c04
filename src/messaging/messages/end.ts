import { recordCampaignEnds } from './campaign-ends/record.ts';
import type { CampaignEnds } from './campaign-ends/sql.ts';
import { settleCharges } from '../../money/credit/charge.ts';
import type { Db } from '../../platform/db/query.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { countTraffic } from '../traffic/count.ts';
import { moveToNameless } from './unknown/sql.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { updateFallbacksDueNow } from './fallback/sql.ts';
import { type EndGroup, figuresOfEnds, figuresOfReads } from './figures.ts';
import { STATUS } from '../states.ts';
import { publishFinalStates } from './publish-events.ts';
import * as db from './sql.ts';

type Options = {
  /**
   * Messages that people have read: each once, and among the moves to DELIVERED as well, in the same order, so that two
   * transactions with the same messages never wait for each other.
   */
  readonly reads?: readonly db.Read[];
  /** False for simulated messages: no figures count them. */
  readonly counted?: boolean;
};

/**
 * Brings messages to their final state, in the caller's transaction: forward only, off the list of unknown outcomes,
 * with what was frozen for them settled, counted in the hourly figures, and told to webhooks, combined campaigns and
 * what follows on another channel.
 *
 * Each message at most once in a call, and one call a transaction; call it last in it, since rows that many
 * transactions want (the figures, the balance of the account) are locked from here to the commit.
 *
 * @returns the ids of the messages that stayed as they were, since they had an end already
 */
export async function endMessages(
  tx: Db,
  moves: readonly db.StateMove[],
  { reads = [], counted = true }: Options = {},
): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const { special, read } = await moveAll(tx, moves, reads);
  const held = movesOf(special.filter((ends) => ends.held));
  const doubtful = movesOf(special.filter(mayBeInDoubt));
  const bills = held.length > 0 ? await billsOf(tx, held) : { earned: [], returned: [] };
  const stayed = new Set(movesOf(special.filter(({ moved }) => !moved)).map(({ id }) => id));
  await Promise.all([
    insertEvents(tx, special.flatMap(toReplaced)),
    publishFinalStates(tx, moves, { stayed, read }),
    recordCampaignEnds(tx, special.flatMap(toCampaignEnds)),
    updateFallbacksDueNow(tx, movesOf(special.filter(mayBeFollowed))),
    ...(counted ? [countTraffic(tx, [...figuresOfEnds(moves, special, bills.earned), ...figuresOfReads(read)])] : []),
    ...(doubtful.length > 0
      ? [
          moveToNameless(
            tx,
            doubtful.map((move) => ({ ...move, messageId: move.id })),
          ),
        ]
      : []),
  ]);
  await settleCharges(tx, { ...bills, reference: held[0]?.id ?? '' });
  return stayed;
}

async function moveAll(tx: Db, moves: readonly db.StateMove[], reads: readonly db.Read[]) {
  const [firstId, lastId] = boundsOf(moves.map((move) => move.id));
  const moved = await db.moveStates(tx, { moves, firstId, lastId });
  const read = reads.length > 0 ? await db.updateReadTimes(tx, { reads, firstId, lastId }) : [];
  return { special: moved.map((row) => toEnds(moves, row)), read };
}

function toEnds(all: readonly db.StateMove[], row: db.Moved): EndGroup {
  const [places, moved, held, expiredAt, wasSent, channel, campaignId] = row;
  const at = places.split(',').map(Number);
  const moves = at.map((n) => all[n] as db.StateMove);
  return { places: at, moves, moved, held, expiredAt, wasSent, channel, campaignId };
}

const movesOf = (special: readonly EndGroup[]): db.StateMove[] => special.flatMap(({ moves }) => moves);

/** Messages that we had given up and that the carrier delivered after all: their states forget the former end. */
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

/** On the list of unknown outcomes: never answered, or an RCS message of which nobody knows whether it was taken back. */
const mayBeInDoubt = ({ moved, held, channel }: EndGroup): boolean => held || (moved && channel === bitOf('RCS'));

/** A single send on a channel that another one may stand in for. */
const mayBeFollowed = ({ moved, channel, campaignId }: EndGroup): boolean =>
  moved && campaignId === null && channel !== bitOf('SMS');

/** The first end of each message; nothing may follow one that we gave up while a carrier may have it. */
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

/**
 * Whether a price that was still frozen when the message reached this final state is earned: it was delivered, or it
 * was not and the price is not given back. Nobody pays for what was never confirmed in time.
 */
export const isEarned = (status: number, refundUndelivered: boolean): boolean =>
  status === STATUS.DELIVERED || (!refundUndelivered && status === STATUS.UNDELIVERABLE);

export type Bill = { readonly accountId: number; readonly id: string; readonly micros: number };

/** What becomes of the prices of messages whose outcome was open: waiting, unknown, or refundable. */
async function billsOf(tx: Db, held: readonly db.StateMove[]): Promise<{ earned: Bill[]; returned: Bill[] }> {
  const statusOf = new Map(held.map(({ id, status }) => [id, status]));
  const earned: Bill[] = [];
  const returned: Bill[] = [];
  for (const { accountId, id, priceMicros: micros, refundUndelivered, keepsReserve } of await db.listCharges(
    tx,
    held,
  )) {
    if (isEarned(statusOf.get(id) ?? STATUS.UNKNOWN, refundUndelivered)) earned.push({ accountId, id, micros });
    else if (!keepsReserve) returned.push({ accountId, id, micros });
  }
  return { earned, returned };
}
