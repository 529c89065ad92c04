import type { Pool } from 'pg';
import { transaction } from '../../db/transaction.ts';
import type { Log } from '../../lib/log.ts';
import type { Accept } from '../accept.ts';
import { endMessages } from '../end.ts';
import { takeBack } from '../expiry/take-back.ts';
import { type Revoke, toRevoked, toTimedOut } from './ends.ts';
import { goOn, refuse } from './go-on.ts';
import { judge, type Looked, type Verdict } from './judge.ts';
import * as db from './sql.ts';

export type FallbackDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly revoke: Revoke;
  readonly now: () => Date;
  readonly log: Log;
};

export type Fallbacks = {
  /** Does what is due; answers how many messages were looked at. For one caller at a time. */
  look(): Promise<number>;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
};

const BATCH = 100;
/** Longer than a batch takes. */
const LEASE_MS = 2 * 60_000;
/** Until a carrier has answered what was just written to it. */
const WRITTEN_MS = 10_000;
/** Until another process may have the link. */
const ELSEWHERE_MS = 15_000;
/** After what did not work. */
const AGAIN_MS = 5000;
/** Transactions at a time, and requests to a network. */
const AT_ONCE = 5;
const REQUESTS = 20;

/**
 * Looks at single sends that another channel follows and that have ended, or have had their time. Any number of workers
 * do so: each row is one worker's for a while, and nothing that matters rests on that.
 */
export function createFallbacks(deps: FallbackDeps): Fallbacks {
  const revoking = new Set<Promise<void>>();
  return {
    async look() {
      const claimed = await db.claimDue(deps.pool, { limit: BATCH, leaseMs: LEASE_MS });
      const judged = await judgeAll(deps, claimed);
      const revocable = await act(deps, judged);
      // A network may take its time: others need not wait for it.
      const work = inTurns(deps, revocable, REQUESTS, (fact) => revokeOne(deps, fact)).finally(() =>
        revoking.delete(work),
      );
      revoking.add(work);
      return claimed.length;
    },
    async stop() {
      await Promise.all(revoking);
    },
  };
}

type Judged = { readonly looked: Looked; readonly verdict: Verdict };
type Claimed = Awaited<ReturnType<typeof db.claimDue>>;

/** Forgets those that are gone, or that nothing follows any more. */
async function judgeAll({ pool, now }: FallbackDeps, claimed: Claimed): Promise<Judged[]> {
  const facts = new Map((await db.listFacts(pool, claimed)).map((fact) => [fact.id, fact]));
  const judged = claimed.flatMap(({ id, hops: [hop, ...rest] }): Judged[] => {
    const fact = facts.get(id);
    if (!fact || !hop) return [];
    const looked = { fact, hop, rest };
    return [{ looked, verdict: judge(looked, now()) }];
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
async function act(deps: FallbackDeps, judged: readonly Judged[]): Promise<db.Fact[]> {
  const of = (kind: Verdict['kind']): db.Fact[] =>
    judged.filter(({ verdict }) => verdict.kind === kind).map(({ looked }) => looked.fact);
  await withdrawLate(deps, of('withdraw'));
  const acting = judged.map(({ looked, verdict }) => ({ ...looked.fact, looked, verdict }));
  await inTurns(deps, acting, AT_ONCE, async ({ looked, verdict }) => {
    if (verdict.kind === 'wait') await db.moveClaimed(deps.pool, [looked.fact], verdict);
    if (verdict.kind === 'next') await goOn(deps, looked, verdict.reason);
    if (verdict.kind === 'refuse') await refuse(deps, looked, verdict.reason);
  });
  return of('revoke');
}

/** Some at a time. What fails is due again soon, and the others go on. */
async function inTurns<T extends db.Key>(
  { pool, log }: FallbackDeps,
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const putOff = async (item: T, err: unknown): Promise<void> => {
    log.error({ err, messageId: item.id }, 'what follows a message could not be done, trying again');
    await db.moveClaimed(pool, [item], { waitMs: AGAIN_MS }).catch(() => undefined);
  };
  for (let at = 0; at < items.length; at += atOnce)
    await Promise.all(
      items.slice(at, at + atOnce).map((item) => work(item).catch((err: unknown) => putOff(item, err))),
    );
}

/** Those that were taken out of the queue have ended by that, and so are due again at once. */
async function withdrawLate({ pool, now }: FallbackDeps, facts: readonly db.Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const withdrawn = await transaction(pool, async (tx) => {
    const taken = await takeBack(tx, facts);
    await endMessages(
      tx,
      facts.filter(({ id }) => taken.has(id)).map((fact) => toTimedOut(fact, now())),
    );
    return taken;
  });
  const written = facts.filter(({ id }) => !withdrawn.has(id));
  await db.moveClaimed(pool, written, { waitMs: WRITTEN_MS });
}

/** Asks outside of any transaction; after a crash in between it is asked again. */
async function revokeOne({ pool, revoke, now }: FallbackDeps, fact: db.Fact): Promise<void> {
  const { id: messageId, sender, destination, connectionId } = fact;
  const answer = connectionId === null ? false : await revoke({ messageId, sender, destination, connectionId });
  if (answer === true) await transaction(pool, (tx) => endMessages(tx, [toRevoked(fact, now())]));
  else await db.moveClaimed(pool, [fact], { waitMs: answer === null ? ELSEWHERE_MS : null });
}
