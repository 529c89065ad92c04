import type { Pool } from 'pg';
import { always, type Task, whenDue } from '../core/background.ts';
import { CHANNEL } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId, timeOfId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { isFinal, nameOfStatus, STATUS } from '../core/message-state.ts';
import { SECOND_MS } from '../core/time.ts';
import type { Accept } from './accept.ts';
import { endMessages, insertUnknowns } from './end.ts';
import { insertEvents, type NewEvent } from './events.ts';
import { insertOpenStates, withdrawFromQueue } from './expiry.ts';
import * as db from './fallback-store.ts';
import {
  FALLBACKS_CHANNEL,
  type FallbackMessage,
  findNextFallbackMs,
  type Hop,
  listRevokeRequests,
  NOT_TRIED,
  REVOKED,
  restMs,
  type Timed,
  triggersFallback,
  UNKNOWN_WAIT_MS,
} from './fallback-store.ts';
import { validUntilOf } from './load.ts';
import { inheritedOf, insertMessages, type NewMessage, newMessage } from './new-messages.ts';
import { type Draft, newDraft, REFUSALS } from './read-send.ts';
import { EXPIRED_BY_US, type StateMove } from './store.ts';

/** A message whose fallback is due, the hop that may follow it, and the hops after that. */
type DueMessage = { readonly message: FallbackMessage; readonly hop: Hop; readonly laterHops: readonly Hop[] };

/** Decision about a message whose fallback is due. */
type Verdict =
  /** No message follows it. */
  | { readonly kind: 'over' }
  /** The next message is made. `reason`: the name of the final status, TIME, or NOT_TRIED. */
  | { readonly kind: 'next'; readonly reason: string }
  /** The next message is due, but must not be sent. */
  | { readonly kind: 'refuse'; readonly reason: string }
  /** The network is asked to revoke it, and no message follows unless it does. */
  | { readonly kind: 'revoke' }
  /** No carrier has taken it within its maximum wait: it is withdrawn from the queue. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** The shortest wait until a message is checked again. */
const MIN_WAIT_MS = 1000;

/**
 * Decides about the fallback of a single send. A final state makes a fallback due immediately. A due message without
 * one may still wait in the queue, or may have been taken later than it was made: then its time goes on (`restMs`).
 * Pure.
 */
function decideFallback({ message, hop }: DueMessage, now: Date): Verdict {
  const { status, submittedAt, missed } = message;
  if (status !== null && isFinal(status)) return afterFinalState(message, hop, now);
  if (status === STATUS.UNKNOWN) return { kind: 'wait', waitMs: UNKNOWN_WAIT_MS };
  if (missed) return { kind: 'wait', waitMs: hop.afterSeconds * SECOND_MS };
  const waitMs = restMs(timedOf(message), timesOf(message, hop), now);
  if (waitMs > 0) return { kind: 'wait', waitMs: Math.max(waitMs, MIN_WAIT_MS) };
  if (submittedAt === null) return { kind: 'withdraw' };
  if (CHANNEL[message.channel].revocable && !message.simulation) return { kind: 'revoke' };
  return next(message, 'TIME', now);
}

/**
 * No message follows one that our own timer expired: it had the time of its channel and its validity, and the recipient
 * may have it. The same holds for a message that was sent again after an unknown outcome.
 */
function afterFinalState(message: FallbackMessage, { onStatus }: Hop, now: Date): Verdict {
  const { status, errorCode, doubtful } = message;
  if (doubtful || errorCode === EXPIRED_BY_US || status === null) return { kind: 'over' };
  return triggersFallback({ status, errorCode }, onStatus)
    ? next(message, errorCode === NOT_TRIED ? NOT_TRIED : nameOfStatus(status), now)
    : { kind: 'over' };
}

const timedOf = ({ id, scheduledAt, submittedAt }: FallbackMessage): Timed => ({
  from: scheduledAt ?? timeOfId(id),
  submittedAt,
});

function timesOf(message: FallbackMessage, { afterSeconds, maxWaitSeconds }: Hop) {
  const validMs = validUntilOf(message).getTime() - timedOf(message).from.getTime();
  return { afterSeconds, maxWaitSeconds: maxWaitSeconds ?? validMs / SECOND_MS };
}

function next({ suspended, validUntil }: FallbackMessage, reason: string, now: Date): Verdict {
  if (suspended) return { kind: 'refuse', reason: 'the account is suspended' };
  if (validUntil !== null && validUntil <= now) return { kind: 'refuse', reason: 'its validity has ended' };
  return { kind: 'next', reason };
}

/** Access to networks that can revoke a message. */
export type Revoke = {
  /** Returns true if this process has a link to the carrier of a connection. */
  reaches(connectionId: number): boolean;
  /**
   * Asks a network to revoke a message. True: the message will not be shown. False: it may have been shown, or the
   * network does not know it. Null: the network did not respond, although it may have received the request.
   */
  ask(message: RevocableMessage): Promise<boolean | null>;
};

/** A message that its network can be asked to revoke. */
export type RevocableMessage = {
  readonly accountId: number;
  readonly messageId: string;
  readonly sender: string;
  readonly destination: string;
  readonly connectionId: number;
};

type Key = { readonly accountId: number; readonly id: string };

/** The move of a message that its network revoked to its final state. */
const toRevoked = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: REVOKED,
  errorText: 'revoked because it was not delivered in time: another channel is tried',
});

/** The move of a message that was withdrawn from the queue, because no carrier took it in time, to its final state. */
export const toNotTried = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: NOT_TRIED,
  errorText: 'not tried on this channel: no carrier took it within fallback.maxWait',
});

type FallbackDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly revoke: Revoke;
  readonly now: () => Date;
  readonly log: Log;
};

/** Processes the fallbacks of single sends when they are due. */
type FallbackPoller = {
  /** Processes due fallbacks and returns the number of messages. One caller at a time. */
  poll(): Promise<number>;
  /** Resolves when no work is in progress. */
  stop(): Promise<void>;
};

const BATCH_SIZE = 100;
/** Longer than a batch takes; renewed while networks respond. Other workers take over this long after a worker dies. */
const LEASE_MS = 20 * SECOND_MS;
/** Wait for a carrier's response to a message that was just submitted. */
const SUBMITTED_WAIT_MS = 10 * SECOND_MS;
/** Wait until another process may have the link, or the network a response. */
const REVOKE_RETRY_MS = 15 * SECOND_MS;
/** Wait after an error. */
const ERROR_RETRY_MS = 5 * SECOND_MS;
const CONCURRENT_TRANSACTIONS = 5;
const CONCURRENT_REQUESTS = 20;

/**
 * Creates the poller of single sends that have a fallback and have ended, or have used up their time. Any number of
 * workers may poll: a claim leases a row to one of them, and correctness does not depend on it.
 */
export function createFallbackPoller(deps: FallbackDeps): FallbackPoller {
  const revoking = new Set<Promise<void>>();
  return {
    async poll() {
      const claimed = await db.claimDueFallbacks(deps.pool, { limit: BATCH_SIZE, leaseMs: LEASE_MS });
      const decided = await decideAll(deps, claimed);
      const revocable = await act(deps, decided);
      // A network may be slow: the other messages need not wait for it.
      const work = revokeAll(deps, revocable).finally(() => revoking.delete(work));
      revoking.add(work);
      return claimed.length;
    },
    async stop() {
      await Promise.all(revoking);
    },
  };
}

type Decided = { readonly due: DueMessage; readonly verdict: Verdict };

/** Decides about claimed messages, and deletes the fallbacks of those that are over or no longer exist. */
async function decideAll({ pool, now }: FallbackDeps, claimed: readonly db.DueFallback[]): Promise<Decided[]> {
  const messages = new Map((await db.listFallbackMessages(pool, claimed)).map((message) => [message.id, message]));
  const decided = claimed.flatMap(({ id, hops: [hop, ...laterHops] }): Decided[] => {
    const message = messages.get(id);
    if (!message || !hop) return [];
    const due = { message, hop, laterHops };
    return [{ due, verdict: decideFallback(due, now()) }];
  });
  const open = decided.filter(({ verdict }) => verdict.kind !== 'over');
  const openIds = new Set(open.map(({ due }) => due.message.id));
  await db.deleteFallbacks(
    pool,
    claimed.filter(({ id }) => !openIds.has(id)),
  );
  return open;
}

/** Carries out the decisions, except that it returns the messages to be revoked. */
async function act(deps: FallbackDeps, decided: readonly Decided[]): Promise<db.FallbackMessage[]> {
  const messagesTo = (kind: Verdict['kind']): db.FallbackMessage[] =>
    decided.filter(({ verdict }) => verdict.kind === kind).map(({ due }) => due.message);
  await withdrawLate(deps, messagesTo('withdraw'));
  const acting = decided.map(({ due, verdict }) => ({ ...due.message, due, verdict }));
  await inGroups(deps, acting, CONCURRENT_TRANSACTIONS, async ({ due, verdict }) => {
    if (verdict.kind === 'wait') await db.updateClaimedFallbacks(deps.pool, [due.message], verdict);
    if (verdict.kind === 'next') await sendNext(deps, due, verdict.reason);
    if (verdict.kind === 'refuse') await rejectNext(deps, due, verdict.reason);
  });
  return messagesTo('revoke');
}

/** Works on `size` items at a time. An item that fails is due again soon, and the others continue. */
async function inGroups<T extends db.Key>(
  deps: FallbackDeps,
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += size)
    await Promise.all(
      items.slice(at, at + size).map((item) => work(item).catch((err: unknown) => postpone(deps, [item], err))),
    );
}

async function postpone({ pool, log }: FallbackDeps, items: readonly db.Key[], err: unknown): Promise<void> {
  log.error({ err, messageId: items[0]?.id }, 'cannot process the fallback of a message, trying again');
  await db.updateClaimedFallbacks(pool, items, { waitMs: ERROR_RETRY_MS }).catch(() => undefined);
}

/** Withdraws late messages from the queue. That ends them, so their fallbacks are due again immediately. */
async function withdrawLate({ pool, now }: FallbackDeps, messages: readonly db.FallbackMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const withdrawn = await transaction(pool, async (tx) => {
    const ids = await withdrawFromQueue(tx, messages);
    await endMessages(
      tx,
      messages.filter(({ id }) => ids.has(id)).map((message) => toNotTried(message, now())),
    );
    return ids;
  });
  const submitted = messages.filter(({ id }) => !withdrawn.has(id));
  await db.updateClaimedFallbacks(pool, submitted, { waitMs: SUBMITTED_WAIT_MS });
}

async function revokeAll(deps: FallbackDeps, messages: readonly db.FallbackMessage[]): Promise<void> {
  for (let at = 0; at < messages.length; at += CONCURRENT_REQUESTS) {
    const some = messages.slice(at, at + CONCURRENT_REQUESTS);
    if (at > 0) await db.updateClaimedFallbacks(deps.pool, messages.slice(at), { waitMs: LEASE_MS });
    await revokeSome(deps, some).catch((err: unknown) => postpone(deps, some, err));
  }
}

/**
 * Asks networks to revoke messages. Those that were revoked have ended, so their fallbacks are due again immediately.
 */
async function revokeSome(deps: FallbackDeps, messages: readonly db.FallbackMessage[]): Promise<void> {
  const results = await revokeMessages(
    deps,
    messages.flatMap(({ id: messageId, connectionId, ...message }) =>
      connectionId === null ? [] : [{ ...message, messageId, connectionId }],
    ),
  );
  const withResult = (result: RevokeResult): db.FallbackMessage[] =>
    messages.filter(({ id }) => (results.get(id) ?? 'stays') === result);
  await db.updateClaimedFallbacks(deps.pool, withResult('later'), { waitMs: REVOKE_RETRY_MS });
  await db.updateClaimedFallbacks(deps.pool, withResult('stays'), { waitMs: null });
}

/**
 * The result of a request to revoke a message. `revoked`: it has ended. `stays`: the recipient may have it. `later`:
 * this process has no link to the network, or the network did not respond.
 */
type RevokeResult = 'revoked' | 'stays' | 'later';

type Deps = { readonly pool: Pool; readonly revoke: Revoke; readonly now: () => Date };

/** History text of an earlier request that has no recorded response. */
const DOUBT =
  'it is unknown whether it was revoked: its network was asked before, the response was not recorded, and now the network ' +
  'says no, as it also does for messages that it has delivered';

/**
 * Asks networks to revoke messages, outside of any transaction, and records their responses. Only a yes ends a message
 * (DELETED, code REVOKED) and so lets another one follow.
 *
 * The request is committed before it is made. When a process dies between the network's yes and our commit, the no to
 * the next request does not prove a delivery: the first request may have succeeded. It does not prove that success
 * either, because the message may have been delivered in between, and another message would then be a second copy. Such
 * a message goes on the list of unknown outcomes until a receipt or a person resolves it.
 *
 * For a handful of messages at a time. A message whose request got a response is not asked about again.
 */
export async function revokeMessages(
  { pool, revoke, now }: Deps,
  messages: readonly RevocableMessage[],
): Promise<Map<string, RevokeResult>> {
  const reachable = messages.filter(({ connectionId }) => revoke.reaches(connectionId));
  const asked = await recordRequests(pool, reachable);
  const results = new Map<string, RevokeResult>(messages.map(({ messageId }) => [messageId, 'later']));
  for (const [messageId, answered] of asked) if (answered) results.set(messageId, 'stays');
  const open = reachable.filter(({ messageId }) => asked.get(messageId) !== true);
  const answers = await Promise.all(open.map((message) => revoke.ask(message)));
  const withAnswer = (answer: boolean): RevocableMessage[] => open.filter((_, i) => answers[i] === answer);
  const [revoked, refused] = [withAnswer(true), withAnswer(false)];
  for (const { messageId } of revoked) results.set(messageId, 'revoked');
  for (const { messageId } of refused) results.set(messageId, 'stays');
  await transaction(pool, async (tx) => {
    const doubted = refused.filter(({ messageId }) => asked.has(messageId));
    await insertEvents(
      tx,
      refused.map((message) => toAnswer(message, doubted.includes(message))),
    );
    if (doubted.length > 0)
      await insertUnknowns(
        tx,
        doubted.map((message) => ({ ...message, reason: DOUBT })),
      );
    await endMessages(
      tx,
      revoked.map(({ accountId, messageId: id }) => toRevoked({ accountId, id }, now())),
    );
  });
  return results;
}

/** Commits the requests for these messages. Returns the earlier requests, and whether each got a response. */
function recordRequests(pool: Pool, messages: readonly RevocableMessage[]): Promise<Map<string, boolean>> {
  return transaction(pool, async (tx) => {
    const rows = await listRevokeRequests(
      tx,
      messages.map(({ accountId, messageId: id }) => ({ accountId, id })),
    );
    const before = new Map(rows.map(({ id, answered }) => [id, answered]));
    await insertEvents(
      tx,
      messages.filter(({ messageId }) => !before.has(messageId)).map((message) => toEvent(message, ASKED)),
    );
    return before;
  });
}

const ASKED = 'its network is asked to revoke it, because it was not delivered in time';
const REFUSED = 'its network did not revoke it: it has delivered the message, or does not know it';

const toEvent = ({ accountId, messageId, connectionId }: RevocableMessage, text: string): NewEvent => ({
  accountId,
  messageId,
  connectionId,
  kind: 'revoke',
  text,
});

const toAnswer = (message: RevocableMessage, doubted: boolean): NewEvent => ({
  ...toEvent(message, doubted ? DOUBT : REFUSED),
  details: { outcome: doubted ? 'UNKNOWN' : 'REFUSED' },
});

type SendDeps = { readonly pool: Pool; readonly accept: Pick<Accept, 'once'>; readonly now: () => Date };

/** Rolls back a transaction in which the next message was rejected. */
const ROLLBACK = new Error('the next message was refused');

/**
 * Makes the next message, through all the steps of a send, in the transaction that deletes the fallback of the message
 * before it. So it is made once, whatever fails and however many workers try. A rejection ends the chain.
 *
 * @param reason the final status of the message before it, or TIME
 */
async function sendNext(deps: SendDeps, due: DueMessage, reason: string): Promise<void> {
  let refusal: string | null = null;
  const accepted = deps.accept.once(due.message, [toDraft(due)], {
    claim: async (tx) => (await db.deleteFallbacks(tx, [due.message])) === 1,
    async record(tx, [verdict]) {
      if (verdict?.kind === 'accepted') return recordHop(tx, due, { id: verdict.messageId, text: reason });
      refusal = verdict?.kind === 'refused' ? REFUSALS[verdict.refusal] : 'it cannot be stored';
      throw ROLLBACK;
    },
  });
  await accepted.catch((error: unknown) => {
    if (error !== ROLLBACK) throw error;
  });
  if (refusal !== null) await rejectNext(deps, due, refusal);
}

/**
 * Ends a chain whose next message must not be sent: that message is stored as REJECTED at no price, so that webhooks,
 * the record and the client's id show it.
 */
async function rejectNext({ pool, now }: SendDeps, due: DueMessage, reason: string): Promise<void> {
  await transaction(pool, async (tx) => {
    if ((await db.deleteFallbacks(tx, [due.message])) === 0) return;
    const message = toRejected(due);
    const { accountId, id } = message;
    await insertMessages(tx, [message]);
    await insertOpenStates(tx, [message]);
    await recordHop(tx, due, { id, text: `refused: ${reason}` });
    const end = { accountId, id, status: STATUS.REJECTED, doneAt: now(), errorCode: 'REFUSED', errorText: reason };
    await endMessages(tx, [end], { counted: !message.simulation });
  });
}

/** Records in the histories of both messages that one follows the other, and points the client id to the new one. */
async function recordHop(tx: Db, { message, hop }: DueMessage, { id, text }: { id: string; text: string }) {
  const { accountId, clientId, channel } = message;
  const event = { accountId, connectionId: null, kind: 'fallback' } as const;
  await Promise.all([
    insertEvents(tx, [
      {
        ...event,
        messageId: message.id,
        text: `followed by a message on ${hop.channel}: ${text}`,
        details: { channel: hop.channel, messageId: id },
      },
      {
        ...event,
        messageId: id,
        text: `follows a message on ${channel}: ${text}`,
        details: { channel, messageId: message.id },
      },
    ]),
    ...(clientId === null ? [] : [db.updateNewestId(tx, { accountId, clientId, id: message.id, newestId: id })]),
  ]);
}

const toDraft = ({ message, hop, laterHops }: DueMessage): Draft =>
  newDraft({
    ...inheritedOf(message),
    channel: hop.channel,
    sender: hop.sender,
    body: hop.body,
    content: hop.content,
    hops: laterHops,
    isHop: true,
    isKnownNumber: true,
  });

const toRejected = ({ message, hop }: DueMessage): NewMessage =>
  newMessage({
    ...inheritedOf(message),
    accountId: message.accountId,
    id: newId(),
    channel: hop.channel,
    connectionId: null,
    routeReason: null,
    sender: hop.sender,
    askedSender: null,
    body: hop.body,
    content: hop.content,
    priceMicros: 0,
    refundUndelivered: false,
    apiKeyId: message.keyId,
    userId: message.userId,
  });

/** Sends single messages on their next channel. */
export function fallbackTasks(deps: FallbackDeps): Task[] {
  const fallbacks = createFallbackPoller(deps);
  return [
    {
      name: 'fallbacks',
      pausable: true,
      work: whenDue(
        () => fallbacks.poll(),
        () => findNextFallbackMs(deps.pool),
        10 * SECOND_MS,
      ),
      wakeOn: { [FALLBACKS_CHANNEL]: always },
      close: fallbacks.stop,
    },
  ];
}
