import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../test/support/program.ts';
import { type ServeProcess, startServeProcess } from '../test/support/serve-process.ts';
import { listTaken } from '../test/support/taken.ts';
import { until } from '../test/support/until.ts';
import { listWorkers } from './operate/workers.ts';

/** An account, a carrier and a database; the processes are those that each test starts. */
let stage: TestProgram;
beforeAll(async () => {
  stage = await startTestProgram({ roles: { api: false, worker: false } });
});
afterAll(() => stage[Symbol.asyncDispose]());

type Running = ServeProcess & { readonly address: string; readonly pids: readonly number[] };

async function serve(more: Readonly<Record<string, string>> = {}): Promise<Running> {
  const program = startServeProcess('serve', { ...stage.environment, PROCESSES: '2', LOG_LEVEL: 'info', ...more });
  onTestFinished(() => program[Symbol.dispose]());
  const ready = await program.ready;
  if (!ready?.address || !ready.processes) throw new Error(`the program did not start: ${program.errors()}`);
  return { ...program, address: ready.address, pids: ready.processes };
}

/**
 * Sends a request on a separate connection, so that the processes respond in turn. A request that is handed to a
 * process at the moment it is killed gets no response.
 */
async function ask(url: string, options: { method?: string; body?: string } = {}) {
  const dispatcher = new Agent({ pipelining: 0 });
  const headers = { 'x-api-key': stage.account.apiKey, 'content-type': 'application/json' };
  try {
    const answer = await fetch(url, { ...options, headers, dispatcher, signal: AbortSignal.timeout(20_000) });
    return { status: answer.status, text: await answer.text() };
  } finally {
    await dispatcher.destroy();
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const gone = (pids: readonly number[]) => until('the end of all processes', () => !pids.some(isAlive));

const ready = (address: string, detail: string) =>
  until(detail, async () => (await ask(`${address}/health/ready`)).text.includes(`"${detail}"`));

test('several processes have one address, one log, and one page of metrics whichever of them responds', async () => {
  const program = await serve();
  await ready(program.address, '2 of 2 run');
  for (let i = 0; i < 6; i += 1) expect((await ask(`${program.address}/health/live`)).status).toBe(200);
  for (let i = 0; i < 2; i += 1) {
    const { text } = await ask(`${program.address}/metrics`);
    for (const number of [0, 1, 2])
      expect(text).toMatch(RegExp(`process_resident_memory_bytes{process="${number}"} \\d`));
    const counts = text.matchAll(/duration_seconds_count{.*"\/health\/live".*process="(\d)"} (\d+)/g);
    expect([...counts].map(([, number, count]) => [number, count]).toSorted()).toEqual([
      ['1', '3'],
      ['2', '3'],
    ]);
    expect(text.match(/^heliograph_connection_up{.*$/gm)).toEqual(['heliograph_connection_up{connection="main"} 1']);
    expect(text.match(/^# TYPE (\S+)/gm)).toHaveLength(new Set(text.match(/^# TYPE (\S+)/gm)).size);
  }
  const lines = program.errors().trim().split('\n');
  expect(new Set(lines.map((line) => JSON.parse(line).process))).toEqual(new Set([1, 2]));
  program.signal('SIGTERM');
  expect((await program.ended).code).toBe(0);
  await gone(program.pids);
});

test('when one is killed under traffic, the others respond, it is replaced, and what was accepted is delivered', async () => {
  const program = await serve();
  const accepted = new Set<string>();
  let refused = 0;
  const traffic = new AbortController();
  const send = async (client: number): Promise<void> => {
    for (let i = 0; !traffic.signal.aborted; i += 1) {
      const body = JSON.stringify({ phoneNumber: `+3933300${client}${String(i).padStart(4, '0')}`, message: 'Hello' });
      const url = `${program.address}/api/message-server/sms/send`;
      const answer = await ask(url, { method: 'POST', body }).catch(() => null);
      if (answer?.status === 200) accepted.add(String(JSON.parse(answer.text).messageId));
      else refused += 1;
    }
  };
  const clients = [1, 2, 3, 4].map(send);
  for (const [index, pid] of program.pids.entries()) {
    const before = accepted.size;
    await until('traffic', () => accepted.size > before + 20);
    process.kill(pid, 'SIGKILL');
    const atKill = accepted.size;
    await until('traffic without it', () => accepted.size > atKill + 20);
    await until('its end', () => program.errors().split('ended by SIGKILL').length === index + 2);
    await ready(program.address, '2 of 2 run');
  }
  traffic.abort();
  await Promise.all(clients);
  // Only requests in progress in the killed process.
  expect(refused).toBeLessThanOrEqual(2 * clients.length);
  const outcomes = await until('an outcome of each message', async () => {
    const { rows } = await stage.pool.query<{ outcome: 'delivered' | 'unknown' | null }>(
      `SELECT CASE WHEN s.status = 3 THEN 'delivered' WHEN u.message_id IS NOT NULL THEN 'unknown' END AS outcome
       FROM unnest($1::uuid[]) AS wanted(id)
       LEFT JOIN message_state s USING (id) LEFT JOIN unknown_outcome u ON u.message_id = wanted.id`,
      [[...accepted]],
    );
    return rows.every(({ outcome }) => outcome !== null) && rows;
  });
  expect(outcomes).toHaveLength(accepted.size);
  // Messages without a carrier's response when their process was killed.
  const unknown = outcomes.filter(({ outcome }) => outcome === 'unknown');
  expect(unknown.length).toBeLessThanOrEqual(program.pids.length * clients.length);
  const taken = listTaken(stage.smsc).map(({ destination }) => destination);
  expect(new Set(taken).size).toBe(taken.length);
  expect(program.errors()).toContain('ended by SIGKILL');
  program.signal('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

test('when the supervisor is killed, no process is left', async () => {
  const program = await serve();
  expect(program.pids.every(isAlive)).toBe(true);
  process.kill(program.pid, 'SIGKILL');
  await gone(program.pids);
});

test('a process that a signal reaches alone ends without a loss, and is replaced', async () => {
  const program = await serve();
  process.kill(program.pids[0] ?? 0, 'SIGTERM');
  await gone(program.pids.slice(0, 1));
  await ready(program.address, '2 of 2 run');
  expect(program.errors()).toContain('exit code 0');
});

test('a process that ends again and again ends the program, with a sentence that says so', async () => {
  const program = await serve();
  let isOver = false;
  void program.ended.then(() => (isOver = true));
  const killAll = async () => {
    for (const { pid, alive } of await listWorkers(stage.pool)) if (alive && isAlive(pid)) process.kill(pid, 'SIGKILL');
    return isOver;
  };
  // Five starts, one after the other.
  await until('the end of the program', killAll, 240_000);
  expect((await program.ended).code).toBe(1);
  expect(program.errors()).toMatch(
    /Process \d ended 5 times in a row, the last time with: ended by SIGKILL\. The program stops/,
  );
}, 300_000);

test('a program that cannot listen says why, once, and does not start', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const PORT = String((taken.address() as AddressInfo).port);
  using program = startServeProcess('serve', { ...stage.environment, PROCESSES: '2', LOG_LEVEL: 'silent', PORT });
  expect([await program.ready, (await program.ended).code]).toEqual([null, 1]);
  expect(program.errors().match(/is in use/g)).toHaveLength(1);
});

test('a process of the API alone says that it has no sandbox, unless there is to be none', async () => {
  const errorsWith = async (SANDBOX: string): Promise<string> => {
    using api = startServeProcess('api', { ...stage.environment, PORT: '0', LOG_LEVEL: 'warn', SANDBOX });
    await api.ready;
    return api.errors();
  };
  expect(await errorsWith('on')).toContain('social networks run only in the command serve');
  expect(await errorsWith('off')).not.toContain('sandbox');
});
