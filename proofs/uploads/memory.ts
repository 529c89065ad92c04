import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const SAMPLE_MS = 100;

/** Watches the memory of a process; `stop` returns how much it grew at its peak, in MiB. */
export function watchMemory(pid: number): { stop(): number } {
  const start = rssMiB(pid);
  let peak = start;
  const stopped = new AbortController();
  void (async () => {
    while (!stopped.signal.aborted) {
      peak = Math.max(peak, rssMiB(pid));
      await delay(SAMPLE_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return {
    stop(): number {
      stopped.abort();
      return Math.max(0, Math.round(peak - start));
    },
  };
}

/** The resident memory in MiB; 0 when the process is gone, which is reported elsewhere. */
function rssMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
