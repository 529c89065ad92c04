import type { Pool, PoolClient } from 'pg';
import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Receipt } from '../channels/carrier.ts';
import { bareId, spellings } from '../channels/smpp/receipts.ts';
import { bigint, int, rowsOf, text, timestamptz, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  maybeOne,
  type RowOf,
  type Sql,
  sql,
  timeOf,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { OPEN_STATES, STATUS } from '../core/message-state.ts';
import { insertRetryChunk } from '../dispatch/store.ts';
import { createCostList } from '../routing/costs.ts';
import { deleteUnknowns, endMessages, marginOfNothing, moveToNameless } from './end.ts';
import { insertEvents } from './events.ts';
import { listTraits } from './store.ts';
import { countMargins, countTraffic } from './traffic.ts';

/** Possible verdicts on an unknown outcome: its final state, or that the carrier never got the message. */
export const VERDICTS = ['delivered', 'undeliverable', 'rejected', 'expired', 'not-sent'] as const;
export type Verdict = (typeof VERDICTS)[number];

const END_STATUS = {
  delivered: STATUS.DELIVERED,
  undeliverable: STATUS.UNDELIVERABLE,
  rejected: STATUS.REJECTED,
  expired: STATUS.EXPIRED,
} as const;

/** An operator's decision about an unknown outcome. */
type Settling = {
  readonly messageId: string;
  readonly as: Verdict;
  /** The operator, whose name is stored in the message's history. */
  readonly by: string;
};

/**
 * Settles an unknown outcome by an operator's decision: `not-sent` queues the message again on its connection, any
 * other verdict becomes its final state and settles its credit. When a receipt settles it at the same time, the receipt
 * wins.
 *
 * Errors: 404 when the message is not on the list; 409 when it was settled concurrently, or cannot be sent again
 * because the carrier accepted it or some of its parts, or because its connection was removed.
 */
export function settleUnknown(pool: Pool, settling: Settling, now: Date): Promise<Unknown> {
  return transaction(pool, async (tx) => {
    const unknown = isUuid(settling.messageId) ? await findUnknown(tx, settling) : undefined;
    if (!unknown)
      throw new AppError('not_found', { message: `There is no open unknown outcome ${settling.messageId}` });
    const { accountId, messageId, connectionId } = unknown;
    const text = `${settling.as}, according to ${settling.by}`;
    await insertEvents(tx, [{ accountId, messageId, connectionId, kind: 'settled', text }]);
    const settled = { action: 'message.settle', subject: `message:${messageId}`, detail: { as: settling.as } };
    await recordAudit(tx, operatorAuthor(accountId, settling.by), settled);
    if (settling.as === 'not-sent') await sendAgain(tx, unknown, text);
    else await end(tx, unknown, END_STATUS[settling.as], text, now);
    return unknown;
  });
}

const settledConcurrently = (): AppError =>
  new AppError('conflict', { message: 'The outcome was settled concurrently' });

async function end(
  tx: PoolClient,
  { accountId, messageId }: Unknown,
  status: number,
  text: string,
  doneAt: Date,
): Promise<void> {
  const failed = status !== STATUS.DELIVERED;
  const stayed = await endMessages(tx, [
    {
      accountId,
      id: messageId,
      status,
      doneAt,
      errorCode: failed ? 'SETTLED_BY_OPERATOR' : null,
      errorText: failed ? `settled by operator: ${text}` : null,
    },
  ]);
  if (stayed.has(messageId)) throw settledConcurrently();
}

async function sendAgain(tx: PoolClient, unknown: Unknown, reason: string): Promise<void> {
  const { accountId, messageId, connectionId } = unknown;
  if (unknown.connection === null)
    throw new AppError('conflict', { message: 'The connection of the message was removed' });
  if (await hasKnownParts(tx, unknown))
    throw new AppError('conflict', {
      message: 'The carrier accepted some parts of the message: settle it with a final state',
    });
  const state = await moveToWaiting(tx, { accountId, messageId, reason });
  if (!state)
    throw new AppError('conflict', {
      message: 'The carrier has accepted the message, or the outcome was settled concurrently',
    });
  await moveToNameless(tx, [unknown]);
  const { attempts: attempt, campaignId, channel, possibleDuplicate } = state;
  const turn = { priority: 1, round: 0, tries: 0, afterMs: 0 };
  await insertRetryChunk(tx, { accountId, connectionId, campaignId, attempt, ...turn, ids: [messageId] });
  // The message was not sent after all, unless an earlier attempt may have reached the recipient.
  if (!possibleDuplicate) await countTraffic(tx, [{ accountId, id: messageId, campaignId, channel, sent: -1 }]);
  await takeBackCost(tx, unknown);
}

/** Subtracts the cost of a message that its carrier never got from the margin, at today's cost. */
async function takeBackCost(tx: PoolClient, { accountId, messageId, connectionId }: Unknown): Promise<void> {
  const costs = createCostList(tx);
  await costs.reload();
  const [traits] = costs.isPriced(connectionId) ? await listTraits(tx, [{ accountId, id: messageId }]) : [];
  if (traits) await countMargins(tx, [marginOfNothing({ accountId, connectionId, traits }, costs.find)]);
}

/** A receipt whose carrier id fits no message. */
type Stray = { readonly receipt: Receipt; readonly receivedAt: Date };

/** The message of a stray receipt: one of unknown outcome, none, or one of several. */
type UnknownMatch =
  | { readonly kind: 'hit'; readonly accountId: number; readonly messageId: string; readonly part: null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'ambiguous' };

const UNKNOWN_COLUMNS: UnknownMatch = { kind: 'unknown' };
const AMBIGUOUS: UnknownMatch = { kind: 'ambiguous' };

/** Returns the digits of a number with its country code, in whichever form the carrier writes it. */
const digitsOf = (number: string): string => number.replace(/\D/g, '').replace(/^00/, '');

const toAddressed = ({ receipt: { destination, sender, carrierIds }, receivedAt }: Stray): Addressed => ({
  ownId: carrierIds.find(isOurs) ?? null,
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
  const inFlight = await listInFlight(tx, { connectionId, receipts });
  const stray = await isStray(strays.map(({ receipt }) => receipt));
  const last = await search(tx, connectionId, strays, receipts);
  const matches = last.map((match, i) => (inFlight.has(i) || stray[i] !== true ? UNKNOWN_COLUMNS : match));
  return assignCarrierIds(tx, connectionId, strays, matches);
}

/** Searches the submits without a carrier id for those that the receipts can report on. */
async function search(
  tx: Db,
  connectionId: number,
  strays: readonly Stray[],
  receipts: readonly Addressed[],
): Promise<UnknownMatch[]> {
  const candidates = Map.groupBy(await listCandidates(tx, { connectionId, receipts }), ({ n }) => n);
  const matches = strays.map(({ receipt }, n) => onlyMatch(candidates.get(n) ?? [], receipt));
  return settleContests(strays, matches);
}

/**
 * Returns the match when exactly one candidate fits. Some networks return our own id, which names that message. Parts
 * of a long message have separate receipts, so without our id it cannot be known which part a receipt reports on.
 */
function onlyMatch(candidates: readonly Candidate[], { carrierIds }: Receipt): UnknownMatch {
  const isNamed = carrierIds.some(isOurs);
  const [one, another] = candidates;
  if (one === undefined) return UNKNOWN_COLUMNS;
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
  const moved = await moveToAccepted(tx, [...wanted.values()]);
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
  return matches.map((match) => (match.kind === 'hit' && !moved.has(match.messageId) ? UNKNOWN_COLUMNS : match));
}

const UNKNOWN = constant(STATUS.UNKNOWN);
const ACCEPTED = constant(STATUS.ACCEPTED);

type Key = { readonly accountId: number; readonly messageId: string };

/** Deletes submits without a carrier id on which no parked receipt can report any more. Returns how many. */
export async function deleteOldNameless(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM nameless_submit WHERE valid_until < now() - ${days} * interval '1 day'`);
}

const UNKNOWN_COUNT = columns({ connectionId: as<number>('connection_id'), count: as<number>('count(*)') });

/** Counts the unknown outcomes of each connection. */
export const countUnknowns = (db: Db): Promise<RowOf<typeof UNKNOWN_COUNT>[]> =>
  many(db, sql`SELECT ${UNKNOWN_COUNT} FROM unknown_outcome GROUP BY connection_id`);

const UNKNOWN_OUTCOME = columns({
  messageId: as<string>('o.message_id'),
  accountId: as<number>('o.account_id'),
  account: as<string>('a.name'),
  connectionId: as<number>('o.connection_id'),
  /** Null when the connection was removed. */
  connection: as<string | null>('c.name'),
  /** The digits of the number, as the carrier knows it. */
  destination: as<string>('o.destination'),
  /** The sender as sent; once the message is deleted, as compared with receipts, in lower case. */
  sender: as<string>('coalesce(m.sender, o.sender)'),
  parts: as<number>('o.parts'),
  since: as<Date>('o.created_at'),
  reason: as<string>('o.reason'),
});
/** A message with an unknown outcome: its carrier may or may not have it. */
export type Unknown = RowOf<typeof UNKNOWN_OUTCOME>;

const SELECT_UNKNOWN = sql`SELECT ${UNKNOWN_OUTCOME}
  FROM unknown_outcome o JOIN account a ON a.id = o.account_id LEFT JOIN connection c ON c.id = o.connection_id
  LEFT JOIN message m ON m.account_id = o.account_id AND m.id = o.message_id`;

/** Lists the unknown outcomes, oldest first; only those of one account or connection when one is given. */
export async function listUnknowns(
  db: Db,
  { accountId, connectionId, limit }: { accountId: number | null; connectionId: number | null; limit: number },
): Promise<Unknown[]> {
  return many(
    db,
    sql`${SELECT_UNKNOWN}
        WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
          AND (${connectionId}::bigint IS NULL OR o.connection_id = ${connectionId})
        ORDER BY o.created_at, o.message_id LIMIT ${limit}`,
  );
}

async function findUnknown(db: Db, { messageId }: { messageId: string }): Promise<Unknown | undefined> {
  return maybeOne(db, sql`${SELECT_UNKNOWN} WHERE o.message_id = ${messageId}`);
}

/** Address of a receipt, for matching without an id: the digits and the sender in lower case, both without a plus. */
export type Addressed = {
  /** Our own id of the message, which some networks return. */
  readonly ownId: string | null;
  readonly destination: string;
  readonly sender: string;
  readonly receivedAt: Date;
};

const addressedRows = (receipts: readonly Addressed[]) =>
  rowsOf(receipts, {
    n: int((_, i) => i),
    own_id: uuid((r) => r.ownId),
    destination: text((r) => r.destination),
    sender: text((r) => r.sender),
    received_at: timestamptz((r) => r.receivedAt),
  });

/** True if the sender fits. With an empty sender the carrier chooses one, and some carriers omit it in receipts. */
const senderFits = (sender: Sql) => sql`(${sender} = '' OR r.sender = '' OR ${sender} = r.sender)`;

const CANDIDATE = columns({
  /** The place of the receipt in the request. */
  n: as<number>('r.n'),
  accountId: as<number>('o.account_id'),
  messageId: as<string>('o.message_id'),
  parts: as<number>('o.parts'),
  /** True if it is on the list of unknown outcomes; the others only make a receipt ambiguous. */
  open: as<boolean>('o.open'),
});
/** A submit without a carrier id on which a receipt may report. */
export type Candidate = RowOf<typeof CANDIDATE>;

/**
 * Lists the submits of the connection without a carrier id on which each of these receipts may report: the one of unknown
 * outcome that it names by our own id, whatever its address (networks may know a person by another one), else those with
 * its number and sender. They were accepted before the receipt came (the clocks of program and database may differ by
 * seconds) and are still within their time.
 */
const listCandidates = (
  db: Db,
  { connectionId, receipts }: { connectionId: number; receipts: readonly Addressed[] },
): Promise<Candidate[]> =>
  many(
    db,
    sql`SELECT ${CANDIDATE}
        FROM ${addressedRows(receipts)} AS r
        CROSS JOIN LATERAL (
          SELECT account_id, message_id, sender, valid_until, parts, true AS open FROM unknown_outcome
          WHERE connection_id = ${connectionId} AND message_id = r.own_id
          UNION ALL
          SELECT account_id, message_id, sender, valid_until, parts, true FROM unknown_outcome
          WHERE connection_id = ${connectionId} AND destination = r.destination AND r.own_id IS NULL
          UNION ALL
          SELECT account_id, message_id, sender, valid_until, 1, false FROM nameless_submit
          WHERE connection_id = ${connectionId} AND destination = r.destination AND r.own_id IS NULL) AS o
        WHERE (r.own_id IS NOT NULL OR ${senderFits(sql`o.sender`)})
          AND ${timeOf(sql`o.message_id`)} <= r.received_at + interval '5 seconds'
          AND r.received_at <= o.valid_until + interval '1 day'`,
  );

/**
 * Lists the places of the receipts that may report on a message that is being submitted to the connection: its response
 * with the carrier id is not recorded yet.
 */
async function listInFlight(
  db: Db,
  { connectionId, receipts }: { connectionId: number; receipts: readonly Addressed[] },
): Promise<Set<number>> {
  const rows = await many<{ n: number }>(
    db,
    sql`SELECT DISTINCT r.n FROM dispatch_chunk c CROSS JOIN unnest(c.ids[:c.intent]) AS i (id)
        JOIN message m ON m.account_id = c.account_id AND m.id = i.id
        JOIN ${addressedRows(receipts)} AS r
          ON r.destination = ltrim(m.destination, '+') AND ${senderFits(sql`lower(ltrim(m.sender, '+'))`)}
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE c.connection_id = ${connectionId} AND c.intent > 0
          AND (s.id IS NULL OR (s.status IN (${OPEN_STATES}) AND s.submitted_at IS NULL))`,
  );
  return new Set(rows.map((row) => row.n));
}

/** Returns true if the carrier accepted some parts of the message before it stopped responding. */
async function hasKnownParts(db: Db, { accountId, messageId }: Key): Promise<boolean> {
  const [row] = await many(
    db,
    sql`SELECT FROM message_part WHERE account_id = ${accountId} AND message_id = ${messageId} LIMIT 1`,
  );
  return row !== undefined;
}

/**
 * Moves messages of unknown outcome to ACCEPTED with the carrier ids that receipts reported. Returns the ids of those
 * that moved; their states are locked until the transaction ends.
 */
export async function moveToAccepted(
  db: Db,
  rows: readonly (Key & { readonly carrierId: string })[],
): Promise<Set<string>> {
  const moved = await many<{ id: string }>(
    db,
    sql`UPDATE message_state s
        SET status = ${ACCEPTED}, carrier_id = u.carrier_id, updated_at = now(), error_text = NULL
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          carrier_id: text((r) => r.carrierId),
        })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.message_id AND s.status = ${UNKNOWN}
        RETURNING s.id`,
  );
  return new Set(moved.map((row) => row.id));
}

const WAITING_STATE = columns({
  attempts: as<number>('attempts'),
  possibleDuplicate: as<boolean>('possible_duplicate'),
  channel: as<number>('channel'),
  campaignId: as<number | null>('campaign_id'),
});

/**
 * Moves a message of unknown outcome back to ACCEPTED, where it waits for its next attempt. Returns its state;
 * undefined when its outcome was not unknown.
 */
const moveToWaiting = (
  db: Db,
  { accountId, messageId, reason }: Key & { reason: string },
): Promise<RowOf<typeof WAITING_STATE> | undefined> =>
  maybeOne(
    db,
    sql`UPDATE message_state SET status = ${ACCEPTED}, submitted_at = NULL, updated_at = now(), error_text = ${reason}
        WHERE account_id = ${accountId} AND id = ${messageId} AND status = ${UNKNOWN}
        RETURNING ${WAITING_STATE}`,
  );
