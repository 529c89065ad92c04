import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../test/support/program.ts';
import { until } from '../test/support/until.ts';
import { loadConfig } from './core/config.ts';
import { countRows, sql } from './core/db/query.ts';
import { type Program, startProgram } from './serve.ts';

const WORKER = { api: false, worker: true, sandbox: false };

/** A program with the API only, and one carrier to which it does not bind. */
let program: TestProgram;
let worker: Program;
beforeAll(async () => {
  program = await startTestProgram({ roles: { worker: false } });
  worker = await startWorker({ WORKER_PORT: '0' });
});
afterAll(async () => {
  await worker.stop();
  await program[Symbol.asyncDispose]();
});

const startWorker = (more: Record<string, string> = {}): Promise<Program> =>
  startProgram(loadConfig({ ...program.environment, ...more }), WORKER);

async function get(path: string) {
  const answer = await fetch(`${worker.health}${path}`);
  return { status: answer.status, text: await answer.text() };
}

test('a process with only the worker serves health, readiness and metrics', async () => {
  expect(worker.address).toBeNull();
  expect(await get('/health/live')).toEqual({ status: 200, text: '{"status":"ok"}' });
  const ready = await until('a bind of its own', async () => {
    const answer = await get('/health/ready');
    return answer.text.includes('1 up') && answer;
  });
  expect(ready.status).toBe(200);
  expect(JSON.parse(ready.text)).toMatchObject({
    status: 'ok',
    checks: { database: { ok: true }, sending: { ok: true }, carriers: { ok: true } },
  });
  const metrics = await get('/metrics');
  expect(metrics.status).toBe(200);
  expect(metrics.text).toContain('heliograph_connection_up{connection="main"} 1');
  expect(metrics.text).toContain('process_resident_memory_bytes');
  expect(metrics.text).toContain('route="/health/ready",status="200"');
});

test('it serves nothing else there, and refuses it in the error form of the API', async () => {
  for (const path of ['/', '/api/partner-gateway/v1/contacts', '/docs', '/openapi.json']) {
    const answer = await get(path);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([404, { error: 'Not Found' }]);
  }
});

test('without the setting it listens nowhere, and the API does not listen there', async () => {
  const silent = await startWorker();
  expect([silent.address, silent.health]).toEqual([null, null]);
  await silent.stop();
  const api = await startProgram(loadConfig({ ...program.environment, WORKER_PORT: '0' }), {
    api: true,
    worker: false,
    sandbox: false,
  });
  expect([typeof api.address, api.health]).toEqual(['string', null]);
  await api.stop();
});

test('a process listens for all its notifications in one session', async () => {
  const countSessions = () =>
    countRows(
      program.pool,
      sql`FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'heliograph worker session'`,
    );
  const before = await countSessions();
  const both = await startProgram(loadConfig(program.environment), { api: true, worker: true, sandbox: false });
  expect(await countSessions()).toBe(before + 1);
  await both.stop();
});

test('it stops listening when it stops', async () => {
  const brief = await startWorker({ WORKER_PORT: '0' });
  expect((await fetch(`${brief.health}/health/live`)).status).toBe(200);
  await brief.stop();
  await expect(fetch(`${brief.health}/health/live`)).rejects.toThrow();
});
