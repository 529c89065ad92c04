import { readdirSync } from 'node:fs';
import type { Process } from '../lib/processes.ts';
import type { Stage } from '../lib/stage.ts';

/** Measurements at one moment of the run. */
export type Sample = {
  /** Since the traffic began. */
  readonly atMs: number;
  /** Messages that the carrier has accepted so far. */
  readonly accepted: number;
  /** The memory of the gateway after a garbage collection: the objects of the heap with what they hold outside, and all of it. */
  readonly heapMiB: number;
  readonly rssMiB: number;
  /** Open files and sockets of the gateway; 0 where the system does not list them. */
  readonly descriptors: number;
  /** Sessions of the gateway at PostgreSQL. */
  readonly sessions: number;
};

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
/** The first part of a run: code is compiled, caches fill, connections open. */
const WARM_UP_SHARE = 0.25;
const TENTHS = 10;

/** Measures the gateway, which must have loaded `heap.ts`. */
export async function takeSample({ gateway, pool, carrier }: Stage, startedAt: number): Promise<Sample> {
  const { heapBytes, rssBytes } = await memoryOf(gateway);
  const { rows } = await pool.query<{ sessions: number }>(
    `SELECT count(*)::int AS sessions FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'heliograph%'`,
  );
  return {
    atMs: performance.now() - startedAt,
    accepted: (await carrier.counts()).accepted,
    heapMiB: heapBytes / MIB,
    rssMiB: rssBytes / MIB,
    descriptors: countDescriptors(gateway.pid),
    sessions: rows[0]?.sessions ?? 0,
  };
}

async function memoryOf({ pid, nextLine }: Process): Promise<{ heapBytes: number; rssBytes: number }> {
  process.kill(pid, 'SIGUSR2');
  const { heapBytes, rssBytes } = await nextLine();
  return { heapBytes: Number(heapBytes), rssBytes: Number(rssBytes) };
}

function countDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Development of the samples after the warm-up. */
export type Trend = {
  /**
   * The slope of the line through the smallest of each tenth. A heap after a collection holds the requests under way, up to
   * 40 MiB of them; what leaks is there at every instant.
   */
  readonly heapMiBPerHour: number;
  readonly rssMiBPerHour: number;
  /**
   * By how much there are more in the last third than in the first, each by its smallest: what is lost is lost at every
   * instant, while a busier machine only has more requests under way.
   */
  readonly moreDescriptors: number;
  readonly moreSessions: number;
  /** Messages per second in the first and in the last third. */
  readonly firstRate: number;
  readonly lastRate: number;
};

export function trendOf(all: readonly Sample[]): Trend {
  const samples = all.slice(Math.floor(all.length * WARM_UP_SHARE));
  const third = Math.max(2, Math.floor(samples.length / 3));
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const more = (of: (sample: Sample) => number): number => Math.min(...last.map(of)) - Math.min(...first.map(of));
  return {
    heapMiBPerHour: slopeOf(lowestOfEach(samples, TENTHS), ({ heapMiB }) => heapMiB),
    rssMiBPerHour: slopeOf(samples, ({ rssMiB }) => rssMiB),
    moreDescriptors: more(({ descriptors }) => descriptors),
    moreSessions: more(({ sessions }) => sessions),
    firstRate: rateOf(first),
    lastRate: rateOf(last),
  };
}

/** Returns the sample with the smallest heap of each of these equal parts of the time. */
function lowestOfEach(samples: readonly Sample[], parts: number): readonly Sample[] {
  const size = Math.max(1, samples.length / parts);
  const starts = Array.from({ length: Math.ceil(samples.length / size) }, (_, i) => Math.round(i * size));
  return starts.map((start, i) =>
    samples.slice(start, starts[i + 1]).reduce((least, sample) => (sample.heapMiB < least.heapMiB ? sample : least)),
  );
}

/** The slope of the straight line with the least squared distances, per hour. */
function slopeOf(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (valueOf: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + valueOf(sample), 0) / samples.length;
  const [meanAt, meanOf] = [mean(({ atMs }) => atMs), mean(of)];
  const covariance = mean((s) => (s.atMs - meanAt) * (of(s) - meanOf));
  const variance = mean((s) => (s.atMs - meanAt) ** 2);
  return variance === 0 ? 0 : rounded((covariance / variance) * HOUR_MS);
}

function rateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  return first && last ? rounded(((last.accepted - first.accepted) / (last.atMs - first.atMs)) * 1000) : 0;
}

/** Rounds to one decimal. */
const rounded = (value: number): number => Math.round(value * 10) / 10;
