import type { Worker } from 'node:cluster';
import { endsWithin } from '../../platform/lib/background/ends-within.ts';
import type { MetricsReport } from '../../platform/metrics.ts';

/** Processes that have not reported by then are omitted, so that a scrape always gets a response. */
const ANSWER_MS = 1000;

/** Creates a collector of the measurements of all processes. */
export function askAll(workers: () => readonly Worker[]) {
  const waiting = new Map<number, (report: MetricsReport) => void>();
  let lastId = 0;
  return {
    /** Receives the report of a process. */
    answer: (id: number, report: MetricsReport): void => waiting.get(id)?.(report),
    /** Resolves with the reports that arrive within a second. */
    async ask(): Promise<readonly MetricsReport[]> {
      const reports: MetricsReport[] = [];
      const asked = workers().map((worker) => {
        const id = (lastId += 1);
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.set(id, (report) => {
          reports.push(report);
          resolve();
        });
        worker.send({ kind: 'measure', id }, () => undefined);
        return { id, promise };
      });
      await endsWithin(Promise.all(asked.map(({ promise }) => promise)), ANSWER_MS);
      for (const { id } of asked) waiting.delete(id);
      return reports;
    },
  };
}
