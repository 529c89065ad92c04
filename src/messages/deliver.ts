import { type Charge, settleCharges } from '../credit/charge.ts';
import type { Db } from '../db/query.ts';
import type { Job } from '../dispatch/held.ts';
import type { News, Result } from '../dispatch/pump.ts';
import type { Chunk } from '../dispatch/sql.ts';
import { type EventDetails, insertEvents, type NewEvent } from './events/sql.ts';
import { validUntilOf } from './expiry/validity.ts';
import { insertParts, type NewPart } from './parts/sql.ts';
import { STATUS } from './states.ts';
import { tellOutcomes } from './tell.ts';
import { deleteUnknowns, insertNameless, insertUnknowns } from '../unknowns/sql.ts';
import * as db from './sql.ts';

/** The dispatcher's `load`: the messages of each chunk as the carrier needs them, in the places of their ids. */
export async function loadJobs(pool: Db, chunks: readonly Chunk[]): Promise<(Job | undefined)[][]> {
  const messages = chunks.flatMap(({ accountId, ids }) => ids.map((id) => ({ accountId, id })));
  const [firstId, lastId] = boundsOf(messages.map((message) => message.id));
  const jobs: (Job | undefined)[] = messages.map(() => undefined);
  for (const row of await db.listQueuedMessages(pool, { messages, firstId, lastId }))
    jobs[row[0]] = toJob(messages[row[0]]?.id ?? '', row);
  let start = 0;
  return chunks.map(({ ids }) => jobs.slice(start, (start += ids.length)));
}

function toJob(messageId: string, row: db.QueuedMessage): Job {
  const [, sender, destination, body, udh, data, parts, wantReceipt, validUntil, scheduledAt, price, refund] = row;
  const job: Job = {
    messageId,
    destination,
    sender,
    body,
    validUntil: validUntilOf({ id: messageId, validUntil, scheduledAt }),
    wantReceipt,
    parts,
    priceMicros: price,
    refundUndelivered: refund,
  };
  return data ? { ...job, binary: { udh: udh ?? new Uint8Array(), data } } : job;
}

/** The lowest and the highest of some ids: statements over partitioned tables name them to keep other days out. */
export function boundsOf(ids: readonly string[]): [firstId: string, lastId: string] {
  let [first, last] = [ids[0] as string, ids[0] as string];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}

/**
 * The dispatcher's `settle`: records outcomes in its transaction. Answers for which messages this was news.
 *
 * First outcomes are plainly inserted, at half the cost of an upsert; that fails when one is recorded already. With
 * `again` such outcomes stay as they are, so a commit whose answer was lost may be repeated.
 */
export async function settleOutcomes(tx: Db, results: readonly Result[], again: boolean): Promise<News> {
  if (again || results.some((result) => result.attempt > 1)) return settleAgain(tx, results);
  await Promise.all([db.insertStates(tx, results.map(toState)), settleNews(tx, results)]);
  return 'all';
}

async function settleAgain(tx: Db, results: readonly Result[]): Promise<News> {
  const recorded = await db.moveOutcomes(tx, results.map(toState));
  const news = results.filter((result) => recorded.has(result.messageId));
  await forgetUnknowns(tx, news);
  await settleNews(tx, news);
  return recorded;
}

/** What comes with the states: parts, the list of unknowns, the history, the credit. All sent before this returns. */
async function settleNews(tx: Db, news: readonly Result[]): Promise<void> {
  const special = news.filter((result) => !isPlain(result));
  const parts = special.flatMap(toParts);
  const unknown = special.filter((result) => result.outcome.kind === 'unknown' && !result.resubmit);
  const nameless = special.filter(isNameless);
  await Promise.all([
    ...(parts.length > 0 ? [insertParts(tx, parts)] : []),
    ...(unknown.length > 0 ? [insertUnknowns(tx, unknown.map(toUnknown))] : []),
    ...(nameless.length > 0 ? [insertNameless(tx, nameless)] : []),
    insertEvents(tx, special.flatMap(toEvent)),
    tellOutcomes(tx, news),
    settleCredit(tx, news),
  ]);
}

/** Taken whole under one id, as nearly all are: the state says all about it. */
const isPlain = ({ outcome }: Result): boolean =>
  outcome.kind === 'accepted' && outcome.carrierIds.length === 1 && outcome.carrierIds[0] !== '';

/**
 * Ends what is frozen for messages whose outcome is recorded: the carrier took it and the price is not refundable, or
 * it was refused and the price goes back. The rest stays frozen. Last in the transaction: it locks balances.
 */
async function settleCredit(tx: Db, results: readonly Result[]): Promise<void> {
  const earned: Charge[] = [];
  const returned: Charge[] = [];
  for (const result of results) {
    const charge = { accountId: result.accountId, micros: result.job?.priceMicros ?? 0 };
    if (result.outcome.kind === 'refused') returned.push(charge);
    else if (!isHeld(result)) earned.push(charge);
  }
  await settleCharges(tx, { earned, returned, reference: results[0]?.messageId ?? '' });
}

/** Whether the price stays frozen after this outcome: it is no end, or a receipt may still give it back. */
const isHeld = ({ outcome, job }: Result): boolean =>
  outcome.kind === 'unknown' ||
  outcome.kind === 'retry' ||
  (outcome.kind === 'accepted' && job?.refundUndelivered === true && job.wantReceipt);

/** The carrier has it, or may have it, under an id that we do not learn, and no receipt is to settle it. */
const isNameless = ({ outcome, resubmit }: Result): boolean =>
  resubmit || (outcome.kind === 'accepted' && outcome.carrierIds.every((id) => id === ''));

/** An outcome that was recorded as unknown, by whoever took this worker's chunks over, is known after all. */
async function forgetUnknowns(tx: Db, news: readonly Result[]): Promise<void> {
  const known = news.filter((result) => result.outcome.kind !== 'unknown');
  if (known.length > 0) await deleteUnknowns(tx, known);
}

function toState(result: Result): db.NewState {
  const { accountId, messageId, connectionId, attempt, outcome, resubmit } = result;
  const [only, ...others] = outcome.kind === 'accepted' ? outcome.carrierIds : [];
  return {
    accountId,
    id: messageId,
    status: statusOf(result),
    attempts: attempt,
    connectionId,
    // Some carriers answer ROK with no id at all: nothing can be matched to that.
    carrierId: (others.length === 0 && only) || null,
    submitted: outcome.kind === 'accepted' || (outcome.kind === 'unknown' && !resubmit),
    errorCode: outcome.kind === 'refused' || outcome.kind === 'retry' ? outcome.code : null,
    errorText: outcome.kind === 'accepted' ? null : outcome.text,
    possibleDuplicate: resubmit,
    creditHeld: isHeld(result),
  };
}

function statusOf({ outcome, resubmit }: Result): number {
  if (outcome.kind === 'refused') return STATUS[outcome.status];
  return outcome.kind === 'unknown' && !resubmit ? STATUS.UNKNOWN : STATUS.ACCEPTED;
}

/**
 * A message of one part keeps its carrier id in its state, one of several in its parts. Ids that come with a refusal or
 * with silence are those of the parts before it: the message has more, and the receipt of one is not its end.
 */
function toParts({ accountId, messageId, connectionId, outcome }: Result): NewPart[] {
  if (outcome.kind === 'retry' || (outcome.kind === 'accepted' && outcome.carrierIds.length < 2)) return [];
  return outcome.carrierIds.map((carrierId, index) => ({
    accountId,
    messageId,
    part: index + 1,
    connectionId,
    carrierId,
  }));
}

/** The state tells of an acceptance; any other outcome may be followed by one that replaces it there. */
function toEvent({ accountId, messageId, connectionId, attempt, outcome, resubmit }: Result): NewEvent[] {
  if (outcome.kind === 'accepted') return [];
  const details: EventDetails = { attempt, outcome: OUTCOME_NAMES[outcome.kind] };
  const said =
    outcome.kind === 'unknown'
      ? { carrierIds: outcome.carrierIds, possibleDuplicate: resubmit }
      : { code: outcome.code };
  return [
    { accountId, messageId, kind: 'attempt', connectionId, text: outcome.text, details: { ...details, ...said } },
  ];
}

const OUTCOME_NAMES = { refused: 'REFUSED', retry: 'RETRY', unknown: 'UNKNOWN' } as const;

const toUnknown = ({ accountId, messageId, connectionId, outcome }: Result) => ({
  accountId,
  messageId,
  connectionId,
  reason: outcome.kind === 'unknown' ? outcome.text : '',
});
