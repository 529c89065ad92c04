import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import type { Accept } from '../sending/accept.ts';
import { endMessages } from '../messages/end.ts';
import { withdrawFromQueue } from '../expiry/withdraw.ts';
import { revokeMessages, type RevokeResult } from './revoke.ts';
import { type Revoke, toNotTried } from './ends.ts';
import { sendNext, rejectNext } from './send-next.ts';
import { decideFallback, type DueMessage, type Verdict } from './decide.ts';
import * as db from '../messages/fallback/sql.ts';

export type FallbackDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly revoke: Revoke;
  readonly now: () => Date;
  readonly log: Log;
};

/** Processes the fallbacks of single sends when they are due. */
export type FallbackPoller = {
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
