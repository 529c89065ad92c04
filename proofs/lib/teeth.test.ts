import { rm } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import type { Proof } from './proof.ts';
import { runProof } from './run-proof.ts';
import { judgeBite } from './teeth.ts';

const BREAKS = ['nothing is lost', 'nothing is sent twice'] as const;

/** The folders of the runs so far: those of runs that failed are kept. */
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A proof that claims both sentences, and another one that is not kept yet. */
function proofWith(broken: readonly string[], sabotage: Partial<Proof['sabotage']> = {}): Proof {
  const claims = [...BREAKS, 'it is fast'];
  return {
    promise: 'A promise.',
    sabotage: {
      fault: 'a fault',
      breaks: BREAKS,
      mode: 'tiny',
      ...sabotage,
    },
    notYet: { 'it is fast': 'it waits' },
    prove({ folder }) {
      folders.push(folder);
      return Promise.resolve({ figures: {}, broken, held: claims.filter((claim) => !broken.includes(claim)) });
    },
  };
}

const OPTIONS = { mode: 'tiny', seed: 1, sabotage: false, databaseUrl: null, log: () => undefined } as const;
const run = (proof: Proof) => runProof('one', proof, OPTIONS);

test.each([
  ['red', 'breaks every claim that the sabotage names', [...BREAKS, 'another one']],
  ['GREEN', 'breaks nothing', []],
  ['OTHER', 'breaks one of two named claims', [BREAKS[0]]],
  ['OTHER', 'breaks only another claim', ['another one']],
])('a run with its fault is %s if it %s', (word, _, broken) => {
  expect(judgeBite(proofWith([]), { broken }).word).toBe(word);
});

test('a run with its fault that threw is an error, not a failure', () => {
  expect(judgeBite(proofWith([]), null).word).toBe('ERROR');
});

test('a claim that is not kept yet does not fail a run, and is reported either way', async () => {
  expect(await run(proofWith(['it is fast']))).toMatchObject({
    verdict: 'passed',
    broken: [],
    notKeptYet: ['it is fast'],
  });
  expect(await run(proofWith([]))).toMatchObject({ verdict: 'passed', notKeptYet: [], keptAlready: ['it is fast'] });
});

test('a broken claim fails a run', async () => {
  expect(await run(proofWith([BREAKS[0]]))).toMatchObject({ verdict: 'failed', broken: [BREAKS[0]] });
});

test('a sabotage that names a claim which the proof does not make is an error', async () => {
  await expect(run(proofWith([], { breaks: ['everything is well'] }))).rejects.toThrow(
    'does not claim: everything is well',
  );
});
