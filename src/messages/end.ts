import { MARKETING_STOPPED } from '../channels/whatsapp/error-table.ts';
import { bitOf, CHANNEL, CHANNELS, type Channel, chargedUnits, isRich, toBits } from '../core/channels.ts';
import { bigint, rowsOf, text, uuid } from '../core/db/columns.ts';
import { type Db, exec, sql, timeOf } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import { settleFrozen } from '../money/credit.ts';
import { returnAllowance } from '../money/free-allowance.ts';
import type { FindCost } from '../routing/costs.ts';
import { type CampaignEnds, insertEvents, type NewEvent, publishFinalStates, recordCampaignEnds } from './events.ts';
import { updateFallbacksDueNow } from './fallback-store.ts';
import { GIVE_UP_AFTER_MS } from './load.ts';
import { recordMarketingStops } from './stops.ts';
import * as db from './store.ts';
import { EXPIRED_BY_US, type StateMove } from './store.ts';
import {
  countMargins,
  countTraffic,
  type EarningPlace,
  listEarningPlaces,
  type MarginDelta,
  type TrafficDelta,
} from './traffic.ts';

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
    recordMarketingStops(
      tx,
      moves.filter(({ errorCode }) => errorCode === MARKETING_STOPPED),
    ),
    ...(free.length > 0 ? [db.updateReturned(tx, free)] : []),
    returnAllowance(
      tx,
      movesOf(special.filter(isOnWhatsapp)).filter(({ status }) => status !== STATUS.DELIVERED),
    ),
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
 * True if messages may be on the list of unknown outcomes: never got a response, or RCS messages that may have been revoked.
 */
const mayBeInDoubt = ({ moved, held, channel }: EndGroup): boolean => held || (moved && (channel & REVOCABLE) !== 0);

const WHATSAPP = bitOf('WHATSAPP');
const isOnWhatsapp = ({ moved, channel }: EndGroup): boolean => moved && (channel & WHATSAPP) !== 0;

/** True if messages are single sends on a channel that may have a fallback. */
const mayHaveFallback = ({ moved, channel, campaignId }: EndGroup): boolean =>
  moved && campaignId === null && (channel & RICH) !== 0;

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
type Bill = { readonly accountId: number; readonly id: string; readonly micros: number };

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

/** Moves with the facts that they have in common (`moveStates`). */
type EndGroup = {
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
const REVOCABLE = toBits(CHANNELS.filter((channel) => CHANNEL[channel].revocable));
const RICH = toBits(CHANNELS.filter(isRich));

/**
 * Returns the additions of final states to the hourly figures. All moves but the special ones belong to SMS that were
 * sent and have no campaign.
 */
function figuresOfEnds(
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
const figuresOfReads = (read: readonly Read[]): TrafficDelta[] =>
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

/** Facts besides the outcome on which its margin depends. */
type Facts = {
  readonly traits: Traits;
  /** True if the outcome replaces the unknown one of the same attempt, for which a cost was counted. */
  readonly replacesUnknown: boolean;
  /** True if the price is earned with the outcome. */
  readonly isEarned: boolean;
};

/**
 * Returns the additions of recorded outcomes to the margins. The carrier charges for accepted messages, and may charge
 * for unanswered ones; the parts before a rejected one count. A cost is reversed once the carrier proves not to have
 * taken the message.
 */
export const marginsOfOutcomes = (
  results: readonly Result[],
  factsOf: (result: Result) => Facts,
  findCost: FindCost,
): MarginDelta[] =>
  results.flatMap((result) => {
    const { accountId, messageId, connectionId, job } = result;
    const { traits, replacesUnknown, isEarned } = factsOf(result);
    const whole = chargedUnits(traits.channel, job?.parts ?? traits.parts);
    const now = unitsOf(result, whole);
    const units = now - (replacesUnknown ? whole : 0);
    const messages = Number(now > 0) - Number(replacesUnknown);
    const earnedMicros = isEarned ? (job?.priceMicros ?? 0) : 0;
    if (units === 0 && messages === 0 && earnedMicros === 0) return [];
    const destination = job?.destination ?? traits.destination;
    const unitMicros = findCost(connectionId, destination, networkOf(job, traits));
    const uncosted = unitMicros === null ? messages : 0;
    const costMicros = (unitMicros ?? 0) * units;
    return [
      { accountId, id: messageId, connectionId, destination, messages, units, uncosted, earnedMicros, costMicros },
    ];
  });

const networkOf = (job: Result['job'], traits: Traits): string | null => job?.network ?? traits.network ?? null;

/** Returns the number of units that a carrier charges after an outcome; `whole` for the whole message. */
function unitsOf({ outcome }: Result, whole: number): number {
  if (outcome.kind === 'retry') return 0;
  return outcome.kind === 'refused' ? Math.min(outcome.carrierIds.length, whole) : whole;
}

type Unsent = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly traits: Traits & { readonly id: string };
};

/**
 * Returns the correction of the margins for a message that a carrier never got, although it might have had all parts.
 */
export function marginOfNothing({ accountId, connectionId, traits }: Unsent, findCost: FindCost): MarginDelta {
  const { id, channel, destination, parts, network } = traits;
  const units = chargedUnits(channel, parts);
  const unitMicros = findCost(connectionId, destination, network);
  return {
    accountId,
    id,
    connectionId,
    destination,
    messages: -1,
    units: -units,
    uncosted: unitMicros === null ? -1 : 0,
    earnedMicros: 0,
    costMicros: -(unitMicros ?? 0) * units,
  };
}

type Earning = { readonly accountId: number; readonly id: string; readonly micros: number };

/** Returns the additions of prices that are earned only with the end of their messages to the margins. */
function marginsOfEarnings(earned: readonly Earning[], places: readonly EarningPlace[]): MarginDelta[] {
  const bills = new Map(earned.map((bill) => [bill.id, bill]));
  return places.flatMap(({ id, connectionId, destination }) => {
    const bill = bills.get(id);
    if (!bill) return [];
    const nothing = { messages: 0, units: 0, uncosted: 0, costMicros: 0 };
    return [{ accountId: bill.accountId, id, connectionId, destination, ...nothing, earnedMicros: bill.micros }];
  });
}

type Key = { readonly accountId: number; readonly messageId: string };
type Submit = Key & { readonly connectionId: number };

const keysOf = (keys: readonly Key[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), message_id: uuid((k) => k.messageId) });

/**
 * The number and the sender as receipts spell them, and how long a receipt may report on the message. The values also
 * cover a message that no longer exists.
 */
const ADDRESSED = sql`coalesce(ltrim(m.destination, '+'), ''), coalesce(lower(ltrim(m.sender, '+')), ''),
  coalesce(m.valid_until, coalesce(m.scheduled_at, ${timeOf(sql`u.message_id`)})
                            + ${GIVE_UP_AFTER_MS} * interval '1 millisecond')`;

/** Adds messages to the list of unknown outcomes. A message that is on it already is unchanged. */
export async function insertUnknowns(db: Db, rows: readonly (Submit & { readonly reason: string })[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO unknown_outcome (account_id, message_id, connection_id, reason, parts, destination, sender,
                                     valid_until)
        SELECT u.account_id, u.message_id, u.connection_id, u.reason, coalesce(m.parts, 1), ${ADDRESSED}
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          connection_id: bigint((r) => r.connectionId),
          reason: text((r) => r.reason),
        })} AS u
        LEFT JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        ON CONFLICT DO NOTHING`,
  );
}

/** Stores submits whose carrier ids will never be known and for whose outcome nothing waits. */
export async function insertNameless(db: Db, rows: readonly Submit[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO nameless_submit (account_id, message_id, connection_id, destination, sender, valid_until)
        SELECT u.account_id, u.message_id, u.connection_id, ${ADDRESSED}
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          connection_id: bigint((r) => r.connectionId),
        })} AS u
        LEFT JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        ON CONFLICT DO NOTHING`,
  );
}

/** Removes messages from the list of unknown outcomes because all their carrier ids are known. Returns how many. */
export async function deleteUnknowns(db: Db, rows: readonly Key[]): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM unknown_outcome o USING ${keysOf(rows)} AS u
        WHERE o.account_id = u.account_id AND o.message_id = u.message_id`,
  );
}

/**
 * Moves messages from the list of unknown outcomes to the submits without a carrier id: a late receipt may still belong
 * to them. Returns how many moved.
 */
export async function moveToNameless(db: Db, rows: readonly Key[]): Promise<number> {
  return exec(
    db,
    sql`WITH gone AS (
          DELETE FROM unknown_outcome o USING ${keysOf(rows)} AS u
          WHERE o.account_id = u.account_id AND o.message_id = u.message_id RETURNING o.*)
        INSERT INTO nameless_submit (account_id, message_id, connection_id, destination, sender, valid_until)
        SELECT account_id, message_id, connection_id, destination, sender, valid_until FROM gone
        ON CONFLICT DO NOTHING`,
  );
}
