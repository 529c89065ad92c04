import type { Pool } from 'pg';
import type { Outcome } from '../../carriers/outcome.ts';
import type { Db } from '../../platform/db/query.ts';
import { burst, transaction } from '../../platform/db/transaction.ts';
import { finishedBy, type Job, type Settled } from './held.ts';
import { requeue } from './requeue.ts';
import * as db from './sql.ts';

/** The outcome of one attempt to send a message, for the feature that owns the message's state. */
export type Result = {
  readonly accountId: number;
  readonly messageId: string;
  readonly connectionId: number;
  /** The number of attempts so far, including this one. */
  readonly attempt: number;
  readonly outcome: Outcome;
  /** True if a message with outcome `unknown` is sent once more, so that it may arrive twice. */
  readonly resubmit: boolean;
  /** Null for the message of a dead worker, whose content is no longer in memory. */
  readonly job: Job | null;
};

/**
 * Records outcomes in the caller's transaction, as its last statements, and returns which messages it recorded. An
 * outcome that is already recorded is skipped with `again`; without `again` it may make the call fail, and all
 * statements are sent before the function first yields, as `burst` requires.
 */
export type Settle = (tx: Db, results: readonly Result[], again: boolean) => Promise<Recorded>;

/**
 * The ids of the messages whose outcome was recorded just now, and not before. `all` stands for all that were given: a
 * set of a thousand new strings costs more than the messages' share of the commit.
 */
export type Recorded = ReadonlySet<string> | 'all';
export const isRecorded = (recorded: Recorded, messageId: string): boolean =>
  recorded === 'all' || recorded.has(messageId);

/** The chunks that still belong to this worker, by id. */
export type OwnedChunks = ReadonlyMap<number, db.OwnedChunk>;

export type CommitDeps = {
  readonly pool: Pool;
  readonly connectionId: number;
  /** The key of this worker's advisory lock, which identifies it. */
  readonly owner: number;
  readonly settle: Settle;
};

type Turn = {
  readonly settled: readonly Settled[];
  /** Number of messages, by chunk, that may have been written after this turn. */
  readonly intents: ReadonlyMap<number, number>;
};
type Commit = Turn & { readonly results: readonly Result[]; readonly done: readonly number[] };

/**
 * Commits outcomes and intents together, and resolves with the chunks of the intents that still belong to this worker.
 * With `again`, for a commit whose response was lost, nothing is recorded or queued a second time.
 */
export function commitTurn(deps: CommitDeps, turn: Turn, again: boolean): Promise<OwnedChunks> {
  const results = resultsOf(turn.settled, deps.connectionId);
  const commit = { ...turn, results, done: finishedBy(turn.settled) };
  const first = !again && results.every((result) => result.attempt === 1);
  return first ? commitFirst(deps, commit) : commitAgain(deps, commit, again);
}

/**
 * Commits the common case in one round trip: first outcomes are never recorded already, so no statement depends on
 * another.
 */
async function commitFirst(deps: CommitDeps, { settled, intents, results, done }: Commit): Promise<OwnedChunks> {
  const { pool, owner, connectionId } = deps;
  const [owned] = await burst(pool, (tx) => [
    intents.size === 0 ? Promise.resolve<OwnedChunks>(new Map()) : db.updateIntents(tx, { owner, intents }),
    done.length === 0 ? Promise.resolve() : db.deleteChunks(tx, { owner, ids: done }),
    requeue(tx, connectionId, settled),
    results.length === 0 ? Promise.resolve() : deps.settle(tx, results, false),
  ]);
  return owned;
}

function commitAgain(deps: CommitDeps, commit: Commit, again: boolean): Promise<OwnedChunks> {
  const { pool, owner, connectionId } = deps;
  const { settled, intents, results, done } = commit;
  return transaction(pool, async (tx) => {
    const owned: OwnedChunks = intents.size === 0 ? new Map() : await db.updateIntents(tx, { owner, intents });
    if (done.length > 0) await db.deleteChunks(tx, { owner, ids: done });
    if (results.length === 0) return owned;
    const recorded = await deps.settle(tx, results, again);
    await requeue(
      tx,
      connectionId,
      settled.filter(({ job }) => isRecorded(recorded, job.messageId)),
    );
    return owned;
  });
}

function resultsOf(settled: readonly Settled[], connectionId: number): Result[] {
  const results: Result[] = [];
  for (const { chunk, job, outcome } of settled) {
    if (outcome === null) continue;
    const { accountId, attempt, onUnknown } = chunk;
    const resubmit = outcome.kind === 'unknown' && onUnknown === 'resubmit';
    results.push({ accountId, messageId: job.messageId, connectionId, attempt: attempt + 1, outcome, resubmit, job });
  }
  return results;
}
