import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Accept } from '../sending/accept.ts';
import { endMessages } from '../messages/end.ts';
import { withdrawFromQueue } from '../expiry/withdraw.ts';
import { revokeMessages, type RevokeResult } from './revoke.ts';
import { type Revoke, toTimedOut } from './ends.ts';
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

export type FallbackPoller = {
  /** Does what is due; answers how many messages were looked at. For one caller at a time. */
  look(): Promise<number>;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
};

const BATCH = 100;
/** Longer than a batch takes, but for networks, for which it is renewed: so long after a worker's end others take over. */
const LEASE_MS = 20_000;
/** Until a carrier has answered what was just written to it. */
const WRITTEN_MS = 10_000;
/** Until another process may have the link, or the network an answer. */
const LATER_MS = 15_000;
/** After what did not work. */
const AGAIN_MS = 5000;
/** Transactions at a time, and requests to a network. */
const AT_ONCE = 5;
const REQUESTS = 20;

/**
 * Looks at single sends that another channel follows and that have ended, or have had their time. Any number of workers
 * do so: each row is one worker's for a while, and nothing that matters rests on that.
 */
export function createFallbackPoller(deps: FallbackDeps): FallbackPoller {
  const revoking = new Set<Promise<void>>();
  return {
    async look() {
      const claimed = await db.claimDueFallbacks(deps.pool, { limit: BATCH, leaseMs: LEASE_MS });
      const judged = await judgeAll(deps, claimed);
      const revocable = await act(deps, judged);
      // A network may take its time: others need not wait for it.
      const work = revokeAll(deps, revocable).finally(() => revoking.delete(work));
      revoking.add(work);
      return claimed.length;
    },
    async stop() {
      await Promise.all(revoking);
    },
  };
}

type Judged = { readonly looked: DueMessage; readonly verdict: Verdict };
type Claimed = Awaited<ReturnType<typeof db.claimDueFallbacks>>;

/** Forgets those that are gone, or that nothing follows any more. */
async function judgeAll({ pool, now }: FallbackDeps, claimed: Claimed): Promise<Judged[]> {
  const facts = new Map((await db.listFallbackMessages(pool, claimed)).map((fact) => [fact.id, fact]));
  const judged = claimed.flatMap(({ id, hops: [hop, ...rest] }): Judged[] => {
    const fact = facts.get(id);
    if (!fact || !hop) return [];
    const looked = { fact, hop, rest };
    return [{ looked, verdict: decideFallback(looked, now()) }];
  });
  const open = judged.filter(({ verdict }) => verdict.kind !== 'over');
  const openIds = new Set(open.map(({ looked }) => looked.fact.id));
  await db.deleteFallbacks(
    pool,
    claimed.filter(({ id }) => !openIds.has(id)),
  );
  return open;
}

/** Answers those that their networks are to be asked about. */
async function act(deps: FallbackDeps, judged: readonly Judged[]): Promise<db.FallbackMessage[]> {
  const of = (kind: Verdict['kind']): db.FallbackMessage[] =>
    judged.filter(({ verdict }) => verdict.kind === kind).map(({ looked }) => looked.fact);
  await withdrawLate(deps, of('withdraw'));
  const acting = judged.map(({ looked, verdict }) => ({ ...looked.fact, looked, verdict }));
  await inTurns(deps, acting, AT_ONCE, async ({ looked, verdict }) => {
    if (verdict.kind === 'wait') await db.updateClaimedFallbacks(deps.pool, [looked.fact], verdict);
    if (verdict.kind === 'next') await sendNext(deps, looked, verdict.reason);
    if (verdict.kind === 'refuse') await rejectNext(deps, looked, verdict.reason);
  });
  return of('revoke');
}

/** Some at a time. What fails is due again soon, and the others go on. */
async function inTurns<T extends db.Key>(
  deps: FallbackDeps,
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce)
    await Promise.all(
      items.slice(at, at + atOnce).map((item) => work(item).catch((err: unknown) => putOff(deps, [item], err))),
    );
}

async function putOff({ pool, log }: FallbackDeps, items: readonly db.Key[], err: unknown): Promise<void> {
  log.error({ err, messageId: items[0]?.id }, 'what follows a message could not be done, trying again');
  await db.updateClaimedFallbacks(pool, items, { waitMs: AGAIN_MS }).catch(() => undefined);
}

/** Those that were taken out of the queue have ended by that, and so are due again at once. */
async function withdrawLate({ pool, now }: FallbackDeps, facts: readonly db.FallbackMessage[]): Promise<void> {
  if (facts.length === 0) return;
  const withdrawn = await transaction(pool, async (tx) => {
    const taken = await withdrawFromQueue(tx, facts);
    await endMessages(
      tx,
      facts.filter(({ id }) => taken.has(id)).map((fact) => toTimedOut(fact, now())),
    );
    return taken;
  });
  const written = facts.filter(({ id }) => !withdrawn.has(id));
  await db.updateClaimedFallbacks(pool, written, { waitMs: WRITTEN_MS });
}

async function revokeAll(deps: FallbackDeps, facts: readonly db.FallbackMessage[]): Promise<void> {
  for (let at = 0; at < facts.length; at += REQUESTS) {
    const some = facts.slice(at, at + REQUESTS);
    if (at > 0) await db.updateClaimedFallbacks(deps.pool, facts.slice(at), { waitMs: LEASE_MS });
    await revokeSome(deps, some).catch((err: unknown) => putOff(deps, some, err));
  }
}

/** Those that were taken back have ended by that. */
async function revokeSome(deps: FallbackDeps, facts: readonly db.FallbackMessage[]): Promise<void> {
  const words = await revokeMessages(
    deps,
    facts.flatMap(({ id: messageId, connectionId, ...fact }) =>
      connectionId === null ? [] : [{ ...fact, messageId, connectionId }],
    ),
  );
  const of = (word: RevokeResult): db.FallbackMessage[] =>
    facts.filter(({ id }) => (words.get(id) ?? 'stays') === word);
  await db.updateClaimedFallbacks(deps.pool, of('later'), { waitMs: LATER_MS });
  await db.updateClaimedFallbacks(deps.pool, of('stays'), { waitMs: null });
}
