import type { FoundMark } from './mark.ts';
import type { DatabaseFacts } from './sql.ts';

/** `go`: the pair agrees. `adopt`: it does not, and that is in order. */
export type Verdict =
  | { readonly kind: 'go' | 'adopt' | 'wait' }
  /** A person must say whether what is queued may be sent. */
  | { readonly kind: 'ask'; readonly reason: string };

/**
 * Whether the workers of this machine may send from this database.
 *
 * @param asked a person was asked because of this worker and has answered if the state is not `paused` any more
 */
export function decideSending(mark: FoundMark | null, standing: DatabaseFacts, asked: boolean): Verdict {
  const { state, unsent, vouched } = standing;
  if (state === 'paused') return { kind: 'wait' };
  const reason = mark === null ? NEWCOMER : contradiction(mark, standing);
  if (reason === null) return { kind: 'go' };
  const welcome = mark === null && (state === 'new' || vouched);
  const settled = !unsent || welcome || asked || state === 'confirmed';
  return settled ? { kind: 'adopt' } : { kind: 'ask', reason };
}

const NEWCOMER = 'this machine has not worked on this database before, so it may be a copy or a restored backup';

/** The generation is raised in the database first: after a crash in between it is one ahead of the mark. */
function contradiction(mark: FoundMark, { generation, database }: DatabaseFacts): string | null {
  if (mark.copied) return 'DATA_DIR is a copy or was restored from a backup';
  if (mark.database !== database) return 'this is not the database that this machine worked on last';
  if (generation === null || generation < mark.generation)
    return 'the database is older than what this machine did last: it was restored from a backup';
  return generation > mark.generation + 1 ? 'DATA_DIR is older than the database: it was restored from a backup' : null;
}
