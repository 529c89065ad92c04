import { DAY_MS } from '../../../platform/lib/time.ts';
import type { WorkerRow } from '../../workers/sql.ts';
import { concern } from './concern.ts';
import type { Attention } from './sql.ts';

/** Reports that no worker runs, or that some have died and were not replaced. */
export function concernsOfWorkers(workers: readonly WorkerRow[]): Attention[] {
  const living = workers.filter(({ alive }) => alive);
  const dead = workers.filter(({ alive }) => !alive).toSorted((a, b) => a.seenAt.getTime() - b.seenAt.getTime());
  if (living.length === 0) return [concern('no_worker', {})];
  const missing = dead.slice(countStartedSince(living, dead[0]?.seenAt));
  if (missing.length === 0) return [];
  const hosts = [...new Set(missing.map(({ host }) => host))].join(', ');
  return [
    concern('worker_missing', {
      severity: 'warning',
      count: missing.length,
      since: missing[0]?.seenAt ?? null,
      detail: hosts,
    }),
  ];
}

const countStartedSince = (living: readonly WorkerRow[], at = new Date(0)): number =>
  living.filter(({ startedAt }) => startedAt > at).length;

type MachineLimits = { readonly minFreeBytes: number; readonly minDays: number; readonly now: Date };

/** A certificate that ends so soon is a problem, and no longer a warning. */
const PROBLEM_DAYS = 3;
const MIB = 1024 ** 2;

/** Reports machines with little disk or a certificate that ends soon, as their live workers last saw them. */
export function concernsOfMachines(workers: readonly WorkerRow[], limits: MachineLimits): Attention[] {
  const machines = Map.groupBy(
    workers.filter(({ alive }) => alive),
    ({ host }) => host,
  );
  return [...machines].flatMap(([subject, [seen]]) => (seen ? concernsOfMachine(subject, seen, limits) : []));
}

function concernsOfMachine(
  subject: string,
  { freeBytes, certificateEndsAt }: WorkerRow,
  { minFreeBytes, minDays, now }: MachineLimits,
): Attention[] {
  const days = certificateEndsAt === null ? null : Math.floor((certificateEndsAt.getTime() - now.getTime()) / DAY_MS);
  return [
    ...(freeBytes === null || freeBytes >= minFreeBytes
      ? []
      : [concern('disk_low', { subject, count: Math.floor(freeBytes / MIB) })]),
    ...(days === null || days >= minDays
      ? []
      : [
          concern('certificate_expiring', {
            subject,
            count: Math.max(0, days),
            severity: days < PROBLEM_DAYS ? 'error' : 'warning',
          }),
        ]),
  ];
}
