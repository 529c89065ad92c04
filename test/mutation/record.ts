// Set up before each test file: runs every test again and again, each time with the next of the mutants that it calls.
import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach } from 'vitest';
import type { Note, Plan } from './plan.ts';

const plan = JSON.parse(process.env['MUTATION_PLAN'] ?? '') as Plan;
const note = (entry: Note): void => appendFileSync(plan.notes, `${JSON.stringify(entry)}\n`);

globalThis.activeMutant = plan.kind === 'one' ? plan.mutant : 0;
globalThis.calledHosts = new Set();

if (plan.kind === 'cover') {
  let isFirst = true;
  let startedAt = 0;
  beforeEach(() => {
    if (isFirst) note({ kind: 'shared', hosts: [...globalThis.calledHosts] });
    isFirst = false;
    globalThis.calledHosts = new Set();
    startedAt = performance.now();
  });
  afterEach(({ task }) => {
    const passed = task.result?.state !== 'fail';
    const durationMs = performance.now() - startedAt;
    note({ kind: 'covered', test: task.id, passed, durationMs, hosts: [...globalThis.calledHosts] });
  });
}

if (plan.kind === 'many') {
  const killed = new Set<number>();
  const waiting = new Map(Object.entries(plan.mutants).map(([test, mutants]) => [test, [...mutants]]));
  /** The mutant with which the test has just failed: its next try is without a mutant. */
  let suspected: number | undefined;
  let isSpoilt = false;
  beforeEach(({ task, skip }) => {
    globalThis.activeMutant = 0;
    if (isSpoilt) return skip();
    if (suspected !== undefined) return;
    const mutants = waiting.get(task.id) ?? [];
    let next = mutants.shift();
    while (next !== undefined && killed.has(next)) next = mutants.shift();
    if (next === undefined) return skip();
    note({ kind: 'started', mutant: next, test: task.id });
    globalThis.activeMutant = next;
  });
  afterEach(({ task }) => {
    const mutant = globalThis.activeMutant;
    const failed = task.result?.state === 'fail';
    globalThis.activeMutant = 0;
    if (mutant !== 0) {
      if (failed) suspected = mutant;
      else note({ kind: 'survived', mutant, test: task.id });
    } else if (suspected !== undefined) {
      note({ kind: failed ? 'spoilt' : 'killed', mutant: suspected, test: task.id });
      isSpoilt = failed;
      killed.add(suspected);
      suspected = undefined;
    }
  });
}
