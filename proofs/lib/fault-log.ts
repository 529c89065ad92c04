import type { Run } from './proof.ts';

const MAX_EXAMPLES = 20;
const MAX_EXAMPLE_LENGTH = 600;

/** Returns a function that logs faults: the first fault of each kind, up to 20 in all. */
export function createFaultLog({ log }: Pick<Run, 'log'>): (kind: string, sentence: string) => void {
  const reported = new Set<string>();
  return (kind, sentence) => {
    if (reported.has(kind) || reported.size >= MAX_EXAMPLES) return;
    reported.add(kind);
    log(sentence.slice(0, MAX_EXAMPLE_LENGTH));
  };
}
