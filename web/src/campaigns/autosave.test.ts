import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from '../api/send.ts';
import { type Draft, newDraft } from './draft.ts';
import { readContent } from './local-copy.ts';
import { createAutosave, type SaveState } from './use-editor.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const named = (name: string): Draft => ({ ...newDraft(['SMS']), name });
const failed = (status: number): ApiError => new ApiError({ status, message: '' });

/** A server that returns the given responses, and an autosave on it. */
function stage(answers: readonly (number | ApiError)[] = []) {
  const [saved, kept, states]: [string[], string[], SaveState[]] = [[], [], []];
  const left = [...answers];
  let copy: string | null = null;
  const autosave = createAutosave({
    version: 0,
    save: async (draft, version) => {
      const answer = left.shift() ?? version + 1;
      if (answer instanceof ApiError) throw answer;
      saved.push(`${draft.name} over ${version}`);
      return answer;
    },
    keep: ({ name }) => {
      copy = name;
      kept.push(name);
    },
    drop: () => {
      copy = null;
    },
    onState: (state) => states.push(state),
  });
  return { autosave, saved, kept, states, copy: () => copy };
}

test('every change is kept at once, and the last of a burst is saved a moment later', async () => {
  const { autosave, saved, kept, copy } = stage();
  for (const name of ['a', 'ab', 'abc']) autosave.change(named(name));
  expect([kept, saved, copy()]).toEqual([['a', 'ab', 'abc'], [], 'abc']);
  await vi.advanceTimersByTimeAsync(700);
  expect([saved, copy(), autosave.isOpen()]).toEqual([['abc over 0'], null, false]);
});

test('what the server could not take is saved again until it has it, and the copy stays until then', async () => {
  const { autosave, saved, states, copy } = stage([failed(0), failed(503), failed(500)]);
  autosave.change(named('a'));
  await vi.advanceTimersByTimeAsync(700 + 2 * 4000);
  expect([saved, copy(), states.at(-1)]).toEqual([[], 'a', 'waiting']);
  await vi.advanceTimersByTimeAsync(4000);
  expect([saved, copy(), states.at(-1)]).toEqual([['a over 0'], null, 'saved']);
});

test('a conflict is not written over by itself, and is once somebody decides it', async () => {
  const { autosave, saved, states, copy } = stage([failed(409)]);
  autosave.change(named('mine'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([saved, copy(), states.at(-1)]).toEqual([[], 'mine', 'conflict']);
  await autosave.overwrite(7);
  expect([saved, states.at(-1)]).toEqual([['mine over 7'], 'saved']);
});

test('a change while a request is under way is saved after it, over its version', async () => {
  const { autosave, saved } = stage();
  autosave.change(named('a'));
  const flushed = autosave.flush();
  autosave.change(named('b'));
  await flushed;
  expect(saved).toEqual(['a over 0', 'b over 1']);
});

test('a draft of another version of the console is read as far as its values fit', () => {
  const base = newDraft(['SMS']);
  const content = { name: 'Sale', rate: 5, contactListIds: [1], smsBody: 7, onStatus: 'x', more: true };
  expect(readContent(content, base)).toEqual({ ...base, name: 'Sale', rate: 5, contactListIds: [1] });
});
