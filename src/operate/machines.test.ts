import { expect, test } from 'vitest';
import { concernsOfMachines, concernsOfWorkers } from './attention.ts';
import type { WorkerRow } from './workers.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 1, 12, minute));

const worker = (fields: Partial<WorkerRow>): WorkerRow => ({
  owner: 1,
  host: 'here',
  pid: 1,
  startedAt: at(0),
  seenAt: at(10),
  tasks: [],
  freeBytes: null,
  certificateEndsAt: null,
  alive: true,
  ...fields,
});

test('a worker that died is missing until another one has been started since', () => {
  const dead = worker({ alive: false, host: 'there', seenAt: at(5) });
  expect(concernsOfWorkers([worker({}), dead])).toMatchObject([
    { kind: 'worker_missing', severity: 'warning', count: 1, detail: 'there', since: at(5) },
  ]);
  expect(concernsOfWorkers([worker({}), worker({ startedAt: at(6) }), dead])).toEqual([]);
  expect(concernsOfWorkers([dead])).toMatchObject([{ kind: 'no_worker', severity: 'error' }]);
  expect(concernsOfWorkers([worker({})])).toEqual([]);
});

test('little disk and a certificate that ends soon are reported once for a machine, and not for dead workers', () => {
  const limits = { minFreeBytes: 2 * 1024 ** 3, minDays: 14, now: at(0) };
  const inDays = (days: number) => new Date(at(0).getTime() + days * 86_400_000 + 1000);
  const low = worker({ freeBytes: 500 * 1024 ** 2, certificateEndsAt: inDays(5) });
  expect(concernsOfMachines([low, { ...low, owner: 2 }], limits)).toMatchObject([
    { kind: 'disk_low', severity: 'error', subject: 'here', count: 500 },
    { kind: 'certificate_expiring', severity: 'warning', subject: 'here', count: 5 },
  ]);
  expect(concernsOfMachines([worker({ certificateEndsAt: inDays(1) })], limits)).toMatchObject([{ severity: 'error' }]);
  const fine = worker({ freeBytes: 3 * 1024 ** 3, certificateEndsAt: inDays(30) });
  expect(concernsOfMachines([fine, { ...low, host: 'gone', alive: false }], limits)).toEqual([]);
});
