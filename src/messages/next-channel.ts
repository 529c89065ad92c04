import type { Pool } from 'pg';

import { CHANNEL, type Channel } from '../core/channels.ts';
import { bigint, rowsOf, uuid } from '../core/db/columns.ts';
import { type Db, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { boundsOf } from '../core/ids.ts';
import { isFinal, nameOfStatus, STATUS } from '../core/message-state.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { endMessages, insertUnknowns } from './end.ts';
import { insertEvents, type NewEvent } from './events.ts';
import { type Key, withdrawFromQueue } from './expiry.ts';
import type { FollowRule } from './fallback-store.ts';
import type { StateMove } from './store.ts';

/** The settings of a send or a campaign that its rules are made of. */
type FallbackSettings = {
  readonly after?: Readonly<Record<string, number | undefined>> | undefined;
  readonly maxWait?: number | undefined;
  readonly onStatus?: readonly string[] | undefined;
};

/** Default seconds until the next channel is tried, by the message's channel, from when its carrier has taken it. */
const DEFAULT_AFTER_SECONDS: Readonly<Record<string, number>> = { WHATSAPP: 3600, RCS: 300 };

export const followRule = ({ after, maxWait, onStatus }: FallbackSettings, channel: Channel): FollowRule => ({
  afterSeconds: after?.[channel] ?? DEFAULT_AFTER_SECONDS[channel] ?? 0,
  maxWaitSeconds: maxWait ?? null,
  onStatus: onStatus ?? null,
});

/** The error code of messages that ended DELETED because their network revoked them in favour of another channel. */
const REVOKED = 'REVOKED';
/**
 * The error code of messages that ended DELETED because no carrier had taken them within `fallback.maxWait`, and the
 * reason why the next channel was tried.
 */
export const NOT_TRIED = 'NOT_TRIED';
/** The reason to try the next channel after a message that was not delivered in time and may still arrive. */
export const TIME = 'TIME';

/** A message that another channel may follow. */
export type Followed = {
  readonly channel: Channel;
  /** Start of its wait for a carrier: its creation, or its scheduled time. */
  readonly from: Date;
  /** Instant after which no carrier may deliver it. */
  readonly validUntil: Date;
  /** Time at which a carrier took it, or may have taken it; null while it waits, also for another attempt. */
  readonly submittedAt: Date | null;
  /** Null before the first outcome. UNKNOWN: a carrier may have it. */
  readonly status: number | null;
  readonly errorCode: string | null;
  /** True if it has ended without proof that the recipient did not get it, so nothing may follow. */
  readonly mayHaveArrived: boolean;
  /** True if no network has it. */
  readonly simulation?: boolean;
};

/** Decision about the channel that follows a message. */
export type NextStep =
  /** Nothing follows the message, which has ended. */
  | { readonly kind: 'over' }
  /** The next channel is tried. `reason`: the name of the final status, TIME, or NOT_TRIED. */
  | { readonly kind: 'next'; readonly reason: string }
  /** The network is asked to revoke the message, and nothing follows unless it does. */
  | { readonly kind: 'revoke' }
  /** No carrier has taken the message within its maximum wait: it is withdrawn from the queue. */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** Wait for a lost worker's outcome, a receipt or a person to resolve an unknown outcome. */
const UNKNOWN_WAIT_MS = 5 * MINUTE_MS;
/** The shortest wait until a message is checked again: those that come due meanwhile are processed together. */
const MIN_WAIT_MS = 1000;

/**
 * Decides whether the next channel is tried after a message, for single sends and campaigns alike. A final failure
 * makes it due immediately. No other channel follows a message that may have been delivered: an unknown outcome waits.
 *
 * The clock starts when a carrier takes the message. It stops while the message waits in the queue, is throttled or
 * belongs to something that is paused; only `maxWaitSeconds` limits that wait. A waiting message could be taken at any
 * moment, so the next check is in `afterSeconds` at the earliest. Pure.
 */
export function decideNext(message: Followed, rule: FollowRule, now: Date): NextStep {
  const { channel, submittedAt, status } = message;
  if (message.mayHaveArrived) return { kind: 'over' };
  if (status !== null && isFinal(status)) return afterFinalState(status, message, rule);
  if (status === STATUS.UNKNOWN) return { kind: 'wait', waitMs: UNKNOWN_WAIT_MS };
  const afterMs = rule.afterSeconds * SECOND_MS;
  const waitMs =
    submittedAt === null
      ? Math.min(afterMs, takenUntil(message, rule) - now.getTime())
      : submittedAt.getTime() + afterMs - now.getTime();
  if (waitMs > 0) return { kind: 'wait', waitMs: Math.max(waitMs, MIN_WAIT_MS) };
  if (submittedAt === null) return { kind: 'withdraw' };
  if (CHANNEL[channel].revocable && !message.simulation) return { kind: 'revoke' };
  return { kind: 'next', reason: TIME };
}

/** Returns the time in ms until which a carrier must have taken the message. */
const takenUntil = ({ from, validUntil }: Followed, { maxWaitSeconds }: FollowRule): number =>
  maxWaitSeconds === null ? validUntil.getTime() : from.getTime() + maxWaitSeconds * SECOND_MS;

/** A message that a user cancelled is DELETED as well, and nothing follows it. */
function afterFinalState(status: number, { errorCode }: Followed, { onStatus }: FollowRule): NextStep {
  const name = nameOfStatus(status);
  const isFollowed =
    status === STATUS.DELETED
      ? errorCode === REVOKED || errorCode === NOT_TRIED
      : status !== STATUS.DELIVERED && (onStatus?.includes(name) ?? true);
  return isFollowed ? { kind: 'next', reason: errorCode === NOT_TRIED ? NOT_TRIED : name } : { kind: 'over' };
}

/**
 * Withdraws messages that no carrier took in time from the queue and ends them, in the caller's transaction, last.
 * Returns the ids of the others: they were sent in the meantime.
 */
export async function withdrawUntaken(tx: Db, keys: readonly Key[], now: Date): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const withdrawn = await withdrawFromQueue(tx, keys);
  await endMessages(
    tx,
    keys.filter(({ id }) => withdrawn.has(id)).map((key) => toNotTried(key, now)),
  );
  return new Set(keys.flatMap(({ id }) => (withdrawn.has(id) ? [] : [id])));
}

/** Wait for a carrier's response to messages that were just submitted. */
export const SUBMITTED_WAIT_MS = 10 * SECOND_MS;

const toNotTried = ({ accountId, id }: Key, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: NOT_TRIED,
  errorText: 'not tried on this channel: no carrier took it within fallback.maxWait',
});

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

/** Returns the message as its network knows it; nothing if no connection has it. */
export const toRevocable = ({
  accountId,
  id: messageId,
  sender,
  destination,
  connectionId,
}: Key & Pick<RevocableMessage, 'sender' | 'destination'> & { connectionId: number | null }): RevocableMessage[] =>
  connectionId === null ? [] : [{ accountId, messageId, sender, destination, connectionId }];

/**
 * The result of a request to revoke a message. `revoked`: it has ended. `stays`: the recipient may have it. `later`:
 * this process has no link to the network, or the network did not respond.
 */
export type RevokeResult = 'revoked' | 'stays' | 'later';

type RevokeDeps = { readonly pool: Pool; readonly revoke: Revoke; readonly now: () => Date };

/** Wait until another process may have the link, or the network a response. */
export const REVOKE_RETRY_MS = 15 * SECOND_MS;
/**
 * Time for which messages belong to one worker after its last request; after that, it has died or the network is silent.
 */
export const REVOKE_LEASE_MS = 20 * SECOND_MS;
/** Requests that are sent to a network in parallel, with their responses recorded in one commit. */
const CONCURRENT_REQUESTS = 20;

/**
 * Asks networks to revoke messages, outside of any transaction, and records their responses: some at a time, and before
 * each further group `renew` is called, which must extend the lease of the caller.
 */
export async function revokeAll(
  deps: RevokeDeps,
  messages: readonly RevocableMessage[],
  renew: () => Promise<void>,
): Promise<Map<string, RevokeResult>> {
  const results = new Map<string, RevokeResult>();
  for (let at = 0; at < messages.length; at += CONCURRENT_REQUESTS) {
    if (at > 0) await renew();
    for (const [id, result] of await revokeSome(deps, messages.slice(at, at + CONCURRENT_REQUESTS)))
      results.set(id, result);
  }
  return results;
}

/**
 * Only a yes of the network ends a message (DELETED, code REVOKED) and so lets another one follow.
 *
 * The request is committed before it is made. When a process dies between the network's yes and our commit, the no to
 * the next request does not prove a delivery: the first request may have succeeded. It does not prove that success
 * either, because the message may have been delivered in between, and another message would then be a second copy. Such
 * a message goes on the list of unknown outcomes until a receipt or a person resolves it. A message whose request got a
 * response is not asked about again.
 */
async function revokeSome({ pool, revoke, now }: RevokeDeps, messages: readonly RevocableMessage[]) {
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
      revoked.map((message) => toRevoked(message, now())),
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
/** History text of an earlier request that has no recorded response. */
const DOUBT =
  'it is unknown whether it was revoked: its network was asked before, the response was not recorded, and now the network ' +
  'says no, as it also does for messages that it has delivered';

const toRevoked = ({ accountId, messageId: id }: RevocableMessage, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: REVOKED,
  errorText: 'revoked because it was not delivered in time: another channel is tried',
});

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

/**
 * Lists those of these messages that were to be revoked by their network, and whether a response was recorded: until
 * then, or until their final state, the network is asked again.
 */
async function listRevokeRequests(db: Db, keys: readonly Key[]): Promise<{ id: string; answered: boolean }[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT e.message_id AS id, bool_or(e.details->>'outcome' IS NOT NULL) AS answered
        FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u
        JOIN message_event e ON e.account_id = u.account_id AND e.message_id = u.id AND e.kind = 'revoke'
          AND e.message_id BETWEEN ${firstId} AND ${lastId}
        GROUP BY e.message_id`,
  );
}
