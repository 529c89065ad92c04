import type { FoundMark } from './mark.ts';
import type { DatabaseFacts } from './sql.ts';

/**
 * The decision about sending. `go`: file and database agree. `adopt`: they disagree, and the worker may still send.
 * `wait`: sending is paused.
 */
export type Verdict =
  | { readonly kind: 'go' | 'adopt' | 'wait' }
  /** The operator must decide whether queued messages may be sent. */
  | { readonly kind: 'ask'; readonly reason: string };

/**
 * Decides whether the workers of this machine may send from this database.
 *
 * @param asked whether the operator was asked because of this worker; the operator has decided when the state is no
 * longer `paused`
 */
export function decideSending(mark: FoundMark | null, facts: DatabaseFacts, asked: boolean): Verdict {
  const { state, unsent, vouched } = facts;
  if (state === 'paused') return { kind: 'wait' };
  const reason = mark === null ? NEWCOMER : contradiction(mark, facts);
  if (reason === null) return { kind: 'go' };
  const welcome = mark === null && (state === 'new' || vouched);
  const settled = !unsent || welcome || asked || state === 'confirmed';
  return settled ? { kind: 'adopt' } : { kind: 'ask', reason };
}

const NEWCOMER = 'this machine has not worked on this database before, so it may be a copy or a restored backup';

/**
 * Returns the reason why mark and database disagree; null when they agree. After a crash the database may be one
 * generation ahead.
 */
function contradiction(mark: FoundMark, { generation, database }: DatabaseFacts): string | null {
  if (mark.copied) return 'DATA_DIR is a copy or was restored from a backup';
  if (mark.database !== database) return 'this is not the database that this machine last worked on';
  if (generation === null || generation < mark.generation)
    return 'the database is older than the last work of this machine: it was restored from a backup';
  return generation > mark.generation + 1 ? 'DATA_DIR is older than the database: it was restored from a backup' : null;
}
