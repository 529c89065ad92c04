import { type CampaignEnd, writeEnds } from '../campaigns/outcomes/write.ts';
import { settleCharges } from '../credit/charge.ts';
import type { Db } from '../db/query.ts';
import { bitOf } from '../lib/channel.ts';
import { boundsOf } from '../lib/ids.ts';
import { countTraffic } from '../traffic/count.ts';
import { moveToNameless } from '../unknowns/sql.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { moveToDue } from './fallback/sql.ts';
import { type End, figuresOfEnds, figuresOfReads } from './figures.ts';
import { STATUS } from './states.ts';
import { tellEnds } from './tell.ts';
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
  const held = special.filter((end) => end.held);
  const bills = held.length > 0 ? await billsOf(tx, held) : { earned: [], returned: [] };
  const stayed = new Set(special.filter(({ moved }) => !moved).map(({ move }) => move.id));
  await Promise.all([
    insertEvents(tx, special.flatMap(toReplaced)),
    tellEnds(tx, moves, { stayed, read }),
    writeEnds(tx, special.flatMap(toCampaignEnd)),
    moveToDue(
      tx,
      special.filter(mayBeFollowed).map(({ move }) => move),
    ),
    ...(counted ? [countTraffic(tx, [...figuresOfEnds(moves, special, bills.earned), ...figuresOfReads(read)])] : []),
    ...(held.length > 0
      ? [
          moveToNameless(
            tx,
            held.map(({ move }) => ({ ...move, messageId: move.id })),
          ),
        ]
      : []),
  ]);
  await settleCharges(tx, { ...bills, reference: held[0]?.move.id ?? '' });
  return stayed;
}

async function moveAll(tx: Db, moves: readonly db.StateMove[], reads: readonly db.Read[]) {
  const [firstId, lastId] = boundsOf(moves.map((move) => move.id));
  const moved = await db.moveStates(tx, { moves, firstId, lastId });
  const read = reads.length > 0 ? await db.moveReads(tx, { reads, firstId, lastId }) : [];
  return { special: moved.map((row) => toEnd(moves, row)), read };
}

function toEnd(moves: readonly db.StateMove[], row: db.Moved): End {
  const [n, moved, held, expiredAt, wasSent, channel, campaignId] = row;
  return { n, move: moves[n] as db.StateMove, moved, held, expiredAt, wasSent, channel, campaignId };
}

/** A message that we had given up and that the carrier delivered after all: its state forgets the former end. */
const toReplaced = ({ move: { accountId, id }, expiredAt }: End): NewEvent[] =>
  expiredAt === null
    ? []
    : [
        {
          accountId,
          messageId: id,
          kind: 'replaced',
          connectionId: null,
          text: null,
          details: { status: STATUS.EXPIRED, code: db.EXPIRED_BY_US },
          at: expiredAt,
        },
      ];

/** A single send on a channel that another one may stand in for. */
const mayBeFollowed = ({ moved, channel, campaignId }: End): boolean =>
  moved && campaignId === null && channel !== bitOf('SMS');

/** The first end of each message; nothing may follow one that we gave up while a carrier may have it. */
function toCampaignEnd({ move, moved, expiredAt, wasSent, campaignId }: End): CampaignEnd[] {
  if (!moved || campaignId === null || expiredAt !== null) return [];
  const { accountId, id, status, errorCode } = move;
  const inDoubt = wasSent && errorCode === db.EXPIRED_BY_US;
  return [{ accountId, campaignId, messageId: id, status: inDoubt ? STATUS.UNKNOWN : status }];
}

/**
 * Whether a price that was still frozen when the message reached this final state is earned: it was delivered, or it
 * was not and the price is not given back. Nobody pays for what was never confirmed in time.
 */
export const isEarned = (status: number, refundUndelivered: boolean): boolean =>
  status === STATUS.DELIVERED || (!refundUndelivered && status === STATUS.UNDELIVERABLE);

export type Bill = { readonly accountId: number; readonly id: string; readonly micros: number };

/** What becomes of the prices of messages whose outcome was open: waiting, unknown, or refundable. */
async function billsOf(tx: Db, held: readonly End[]): Promise<{ earned: Bill[]; returned: Bill[] }> {
  const statusOf = new Map(held.map(({ move }) => [move.id, move.status]));
  const earned: Bill[] = [];
  const returned: Bill[] = [];
  const keys = held.map(({ move }) => move);
  for (const { accountId, id, priceMicros: micros, refundUndelivered, keepsReserve } of await db.listCharges(
    tx,
    keys,
  )) {
    if (isEarned(statusOf.get(id) ?? STATUS.UNKNOWN, refundUndelivered)) earned.push({ accountId, id, micros });
    else if (!keepsReserve) returned.push({ accountId, id, micros });
  }
  return { earned, returned };
}
