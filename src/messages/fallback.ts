import type { Pool } from 'pg';
import { always, type Task, whenDue } from '../core/background.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId, timeOfId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { SECOND_MS } from '../core/time.ts';
import { CODE } from '../dispatch/held.ts';
import type { Accept } from './accept.ts';
import { endMessages } from './end.ts';
import { insertEvents } from './events.ts';
import { insertOpenStates } from './expiry.ts';
import * as db from './fallback-store.ts';
import { FALLBACKS_CHANNEL, type FallbackMessage, findNextFallbackMs, type NextChannel } from './fallback-store.ts';
import { validUntilOf } from './load.ts';
import { inheritedOf, insertMessages, type NewMessage, newMessage } from './new-messages.ts';
import {
  decideNext,
  type Followed,
  type NextStep,
  REVOKE_LEASE_MS,
  REVOKE_RETRY_MS,
  type Revoke,
  type RevokeResult,
  revokeAll,
  SUBMITTED_WAIT_MS,
  toRevocable,
  withdrawUntaken,
} from './next-channel.ts';
import { type Draft, newDraft, REFUSALS } from './read-send.ts';
import { EXPIRED_BY_US } from './store.ts';

/** A message whose fallback is due, the channel that may follow it, and the channels after that. */
type DueMessage = {
  readonly message: FallbackMessage;
  readonly next: NextChannel;
  readonly later: readonly NextChannel[];
};

/** Decision about a message whose fallback is due; `refuse`: the next message is due, but must not be sent. */
type Verdict = NextStep | { readonly kind: 'refuse'; readonly reason: string };

function decideFallback({ message, next }: DueMessage, now: Date): Verdict {
  if (message.status === null && message.missed) return { kind: 'wait', waitMs: next.afterSeconds * SECOND_MS };
  const step = decideNext(toFollowed(message), next, now);
  if (step.kind !== 'next') return step;
  if (message.suspended) return { kind: 'refuse', reason: 'the account is suspended' };
  const { validUntil } = message;
  return validUntil !== null && validUntil <= now ? { kind: 'refuse', reason: 'its validity has ended' } : step;
}

/**
 * A message that our own timer expired had the time of its channel and its validity, and the recipient may have it. The
 * same holds for one that was sent again after an unknown outcome.
 */
function toFollowed(message: FallbackMessage): Followed {
  const { id, status, errorCode, doubtful, scheduledAt } = message;
  return {
    ...message,
    from: scheduledAt ?? timeOfId(id),
    validUntil: validUntilOf(message),
    mayHaveArrived: status !== null && isFinal(status) && (doubtful || errorCode === EXPIRED_BY_US),
  };
}

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
/** Wait after an error. */
const ERROR_RETRY_MS = 5 * SECOND_MS;
const CONCURRENT_TRANSACTIONS = 5;

/**
 * Creates the poller of single sends that have a fallback and have ended, or have used up their time. Any number of
 * workers may poll: a claim leases a row to one of them, and correctness does not depend on it.
 */
export function createFallbackPoller(deps: FallbackDeps): FallbackPoller {
  const revoking = new Set<Promise<void>>();
  return {
    async poll() {
      const claimed = await db.claimDueFallbacks(deps.pool, { limit: BATCH_SIZE, leaseMs: REVOKE_LEASE_MS });
      const decided = await decideAll(deps, claimed);
      const revocable = await act(deps, decided);
      // A network may be slow: the other messages need not wait for it.
      const work = revokeDue(deps, revocable).finally(() => revoking.delete(work));
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
  const decided = claimed.flatMap(({ id, nextChannels: [next, ...later] }): Decided[] => {
    const message = messages.get(id);
    if (!message || !next) return [];
    const due = { message, next, later };
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
  const submitted = await transaction(pool, (tx) => withdrawUntaken(tx, messages, now()));
  const waiting = messages.filter(({ id }) => submitted.has(id));
  await db.updateClaimedFallbacks(pool, waiting, { waitMs: SUBMITTED_WAIT_MS });
}

/** Asks networks to revoke messages. Those that were revoked have ended, so their fallbacks are due again immediately. */
async function revokeDue(deps: FallbackDeps, messages: readonly db.FallbackMessage[]): Promise<void> {
  const setDue = (some: readonly db.FallbackMessage[], waitMs: number | null) =>
    db.updateClaimedFallbacks(deps.pool, some, { waitMs });
  try {
    const results = await revokeAll(deps, messages.flatMap(toRevocable), () => setDue(messages, REVOKE_LEASE_MS));
    const withResult = (result: RevokeResult) => messages.filter(({ id }) => (results.get(id) ?? 'stays') === result);
    await setDue(withResult('later'), REVOKE_RETRY_MS);
    await setDue(withResult('stays'), null);
  } catch (err) {
    await postpone(deps, messages, err);
  }
}

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
      if (verdict?.kind === 'accepted') return recordNext(tx, due, { id: verdict.messageId, text: reason });
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
    await recordNext(tx, due, { id, text: `refused: ${reason}` });
    const end = { accountId, id, status: STATUS.REJECTED, doneAt: now(), errorCode: 'REFUSED', errorText: reason };
    await endMessages(tx, [end], { counted: !message.simulation });
  });
}

/** Records in the histories of both messages that one follows the other, and points the client id to the new one. */
async function recordNext(tx: Db, { message, next }: DueMessage, { id, text }: { id: string; text: string }) {
  const { accountId, clientId, channel } = message;
  const event = { accountId, connectionId: null, kind: 'fallback' } as const;
  await Promise.all([
    insertEvents(tx, [
      {
        ...event,
        messageId: message.id,
        text: `followed by a message on ${next.channel}: ${text}`,
        details: { channel: next.channel, messageId: id },
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

/** Returns the data of a message that the one after it inherits. */
const inheritedBy = (message: db.FallbackMessage) => ({
  ...inheritedOf(message),
  clientData: { ...message.clientData, fallbackOf: message.id },
});

const toDraft = ({ message, next, later }: DueMessage): Draft => {
  const { channel, sender, body, content, respectCalendar, verificationId } = next;
  return newDraft({
    ...inheritedBy(message),
    channel,
    sender,
    body,
    content,
    respectCalendar,
    nextChannels: later,
    isFollowing: true,
    isKnownNumber: true,
    ...(verificationId !== undefined && { coded: { verificationId }, priority: CODE }),
  });
};

const toRejected = ({ message, next: { channel, sender, body, content } }: DueMessage): NewMessage =>
  newMessage({
    ...inheritedBy(message),
    accountId: message.accountId,
    id: newId(),
    channel,
    connectionId: null,
    routeReason: null,
    sender,
    askedSender: null,
    body,
    content,
    priceCategory: null,
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
