import { ApiError } from '../../../api/errors.ts';
import type { Draft } from '../draft.ts';

/**
 * `saved`: the server has everything. `waiting`: the server cannot be reached or returns an error; it is tried again.
 * `conflict`: another user has changed the draft. `gone`: a user has deleted it, or the campaign has another draft.
 */
export type SaveState = 'new' | 'saved' | 'saving' | 'waiting' | 'conflict' | 'gone';

type Options = {
  /** The version that the server has; 0: none. */
  readonly version: number;
  /** Saves a draft over a version and returns the new version. */
  readonly save: (draft: Draft, version: number) => Promise<number>;
  /** Keeps a copy in the browser until the server has it. */
  readonly keep: (draft: Draft, version: number) => void;
  /** Called when the server has everything. */
  readonly drop: () => void;
  readonly onState: (state: SaveState) => void;
};

const PAUSE_MS = 700;
const AGAIN_MS = 4000;

/**
 * Saves a draft while it is typed: a moment after the last change, one request at a time, and again until the server
 * has it. Every change is kept in the browser immediately.
 */
export function createAutosave({ version: known, save, keep, drop, onState }: Options) {
  let version = known;
  let waiting: Draft | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isStopped = false;

  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void run(), ms);
  };

  async function saveOnce(draft: Draft): Promise<boolean> {
    try {
      version = await save(draft, version);
      if (waiting === draft) waiting = null;
      if (waiting === null) drop();
      onState(waiting === null ? 'saved' : 'saving');
      return true;
    } catch (error) {
      onState(stateAfter(error));
      if (stateAfter(error) === 'waiting') plan(AGAIN_MS);
      return false;
    }
  }

  /** Saves until there is nothing left, or it fails. */
  function run(): Promise<void> {
    clearTimeout(timer);
    running ??= (async () => {
      while (waiting !== null && !isStopped) {
        onState('saving');
        if (!(await saveOnce(waiting))) break;
      }
    })().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    change(draft: Draft): void {
      waiting = draft;
      keep(draft, version);
      plan(PAUSE_MS);
    },
    /** Saves waiting changes immediately: before the page is left, or when the network is back. */
    flush: run,
    /** Overwrites the version of another user. */
    overwrite(current: number): Promise<void> {
      version = current;
      return run();
    },
    /** Returns true if the server does not have everything. */
    isOpen: (): boolean => waiting !== null,
    /** Ends it: saves under way are completed, and nothing more is saved. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
    /** The version that the server has; 0: none. */
    version: (): number => version,
  };
}

export type Autosave = ReturnType<typeof createAutosave>;

function stateAfter(error: unknown): SaveState {
  const status = error instanceof ApiError ? error.status : 0;
  if (status === 409) return 'conflict';
  return status === 404 ? 'gone' : 'waiting';
}
