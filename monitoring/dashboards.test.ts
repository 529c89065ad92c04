import { exec, sql } from '../src/core/db/query.ts';
import { newId } from '../src/core/ids.ts';
import { insertUnknowns } from '../src/messages/end.ts';
import { insertUnmatched } from '../src/messages/receipt-store.ts';
import { startTestProgram, type TestProgram } from '../test/support/program.ts';
import { readMetrics, readPromql } from '../test/support/promql.ts';
import { queueMessages } from '../test/support/queue.ts';
import { receipt } from '../test/support/receipts.ts';
import { until } from '../test/support/until.ts';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

type DataSource = { readonly type: string; readonly uid: string };
type Target = {
  readonly datasource: DataSource;
  readonly refId: string;
  readonly expr?: string;
  readonly rawSql?: string;
};
type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource: DataSource;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly Target[];
};
type Variable = { readonly name: string; readonly type: string; readonly query: string | { readonly query: string } };
type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
};
type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook?: string };
};

const BOARDS = globSync('monitoring/grafana/*.json', { cwd: ROOT })
  .toSorted()
  .map((file): { name: string; board: Dashboard } => ({
    name: basename(file, '.json'),
    board: JSON.parse(read(file)),
  }));
const RULES: readonly Rule[] = parse(read('monitoring/prometheus/alerts.yaml')).groups.flatMap(
  ({ rules }: { rules: readonly Rule[] }) => rules,
);

/** Labels that Prometheus adds. */
const ADDED = ['instance', 'job'];

let program: TestProgram;
let metrics: Map<string, Set<string>>;
beforeAll(async () => {
  program = await startTestProgram({ roles: { worker: false }, environment: { MAX_CONNECTIONS_PER_ADDRESS: '5' } });
  await haveSomethingToShow();
  metrics = await until('all metrics', async () => {
    await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
    const found = readMetrics(String((await program.client.request('GET', '/metrics')).body));
    const shown = (name: string): boolean => (found.get(`heliograph_${name}`)?.size ?? 0) > 0;
    // A request is counted after its response.
    return shown('http_refused_total') && shown('http_request_duration_seconds_count') && found;
  });
});
afterAll(() => program[Symbol.asyncDispose]());

/** A metric without values shows no labels. */
async function haveSomethingToShow(): Promise<void> {
  const { pool } = program;
  await queueMessages(pool, { connectionId: 9, count: 1 });
  await insertUnknowns(pool, [{ accountId: 1, messageId: newId(), connectionId: 9, reason: 'no response' }]);
  const parked = { receipt: { ...receipt('A1'), doneAt: null }, reason: 'unknown', receivedAt: new Date() } as const;
  await insertUnmatched(pool, [{ ...parked, connectionId: 9, retryMs: 0 }]);
  await exec(
    pool,
    sql`INSERT INTO lost_chunk (account_id, connection_id, priority, attempt, available_at, ids)
        VALUES (1, 9, 1, 0, now(), ${[newId()]}::uuid[])`,
  );
  await exec(pool, sql`INSERT INTO connection_minute (connection_id, minute, accepted) VALUES (1, now(), 5)`);
  await exec(
    pool,
    sql`INSERT INTO billing_day (day, category, messages, differing) VALUES (now(), 'marketing', 100, 2)`,
  );
  const port = Number(new URL(program.origin()).port);
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.race(sockets.map((socket) => once(socket, 'close')));
  for (const socket of sockets) socket.destroy();
  // The program learns of their end only after a while.
  await until('there is room again', () =>
    program.client.request('GET', '/metrics').then(
      () => true,
      () => false,
    ),
  );
}

/** Returns the unknown names in an expression: metrics that do not exist, and labels that none of its metrics has. */
function faultsOf(expression: string): string[] {
  const asked = readPromql(expression);
  const known = new Set([...ADDED, ...asked.metrics.flatMap((name) => [...(metrics.get(name) ?? [])])]);
  return [
    ...asked.metrics.filter((name) => name !== 'up' && !metrics.has(name)),
    ...asked.labels.filter((label) => !known.has(label)),
  ];
}

test('there are dashboards of the whole, of carriers, of tenants and of the database, each with its own id', () => {
  expect(BOARDS.map(({ name }) => name)).toEqual(['carriers', 'database', 'overview', 'tenants']);
  expect(new Set(BOARDS.map(({ board }) => board.uid)).size).toBe(BOARDS.length);
});

describe.each(BOARDS)('the dashboard $name', ({ board }) => {
  test('has what Grafana needs: panels that do not overlap, with known kinds and data sources', () => {
    expect(board).toMatchObject({
      uid: expect.stringMatching(/^[\w-]{1,40}$/),
      title: expect.stringMatching(/^Heliograph/),
      schemaVersion: expect.any(Number),
      time: { from: expect.stringMatching(/^now-/), to: 'now' },
    });
    expect(board.schemaVersion).toBeGreaterThanOrEqual(36);
    const sources = new Set(board.templating.list.filter(({ type }) => type === 'datasource').map(({ name }) => name));
    const cells = new Set<string>();
    for (const { id, type, title, datasource, gridPos, targets } of board.panels) {
      expect(Number.isInteger(id), title).toBe(true);
      expect(['stat', 'timeseries', 'table', 'state-timeline']).toContain(type);
      expect(targets.length, title).toBeGreaterThan(0);
      for (const { uid } of [datasource, ...targets.map((target) => target.datasource)])
        expect(sources, title).toContain(/^\$\{(\w+)\}$/.exec(uid)?.[1]);
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(cells.has(`${x}/${y}`), `${title} overlaps`).toBe(false);
          cells.add(`${x}/${y}`);
        }
    }
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    expect(new Set(board.panels.map(({ title }) => title)).size).toBe(board.panels.length);
  });

  test('asks Prometheus only for metrics and labels that the program has', () => {
    const expressions = board.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr ?? []));
    const faults = expressions.flatMap((expr) => faultsOf(expr).map((fault) => `${fault} in ${expr}`));
    expect(faults).toEqual([]);
    for (const { query } of board.templating.list) {
      const [, metric = '', label = ''] =
        /^label_values\((\w+), (\w+)\)$/.exec(typeof query === 'string' ? '' : query.query) ?? [];
      if (metric !== '') expect(metrics.get(metric)).toContain(label);
    }
  });

  test('asks PostgreSQL only for what its own role may read', async () => {
    const queries = board.panels.flatMap(({ targets }) => targets.flatMap(({ rawSql }) => rawSql ?? []));
    await asReader(async (client) => {
      for (const query of queries) await client.query(runnable(query));
    });
  });
});

/** Grafana replaces its macros by the time that is shown. */
const runnable = (query: string): string =>
  query.replaceAll(/\$__timeFilter\(([\w.]+)\)/g, "$1 BETWEEN now() - interval '1 day' AND now()");

/** Runs `work` as the role of `reader.sql`, which is gone afterwards: roles belong to the whole server. */
async function asReader(work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await program.pool.connect();
  try {
    await client.query('BEGIN');
    // Another test may have a role of this name.
    await client.query(
      read('monitoring/grafana/reader.sql').replaceAll('heliograph_grafana', 'heliograph_grafana_test'),
    );
    await client.query('SET LOCAL ROLE heliograph_grafana_test');
    await work(client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('the role of Grafana reads no texts, numbers or secrets', async () => {
  for (const query of [
    'SELECT body FROM message',
    'SELECT destination FROM unknown_outcome',
    'SELECT settings FROM connection',
    'SELECT secret FROM webhook_endpoint',
    'SELECT * FROM contact',
  ])
    await asReader(async (client) => {
      await expect(client.query(query), query).rejects.toThrow('permission denied');
    });
});

test('the alerts ask only for metrics and labels that the program has, and name a runbook that exists', () => {
  expect(RULES.length).toBeGreaterThan(5);
  expect(RULES.flatMap(({ alert, expr }) => faultsOf(expr).map((fault) => `${alert}: ${fault}`))).toEqual([]);
  for (const { alert, labels, annotations } of RULES) {
    expect(['critical', 'warning'], alert).toContain(labels.severity);
    expect(annotations.summary, alert).not.toBe('');
    if (annotations.runbook !== undefined) expect(read(annotations.runbook), alert).toMatch(/^# /);
  }
});

test('every alert has a unit test', () => {
  const tested = new Set(
    [...read('monitoring/prometheus/alerts.test.yaml').matchAll(/alertname: (\w+)/g)].map(([, name]) => name),
  );
  expect(RULES.map(({ alert }) => alert).filter((alert) => !tested.has(alert))).toEqual([]);
});

test('an expression with a metric or a label that does not exist is noticed', () => {
  expect(faultsOf('sum by (conection) (heliograph_queue_mesages{state=~"a|b"}) or vector(0)')).toEqual([
    'heliograph_queue_mesages',
    'state',
    'conection',
  ]);
});
