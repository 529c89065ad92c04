import { once } from 'node:events';
import { readFile, realpath } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { clusterPath, findServer } from '../../src/core/db/embedded-process.ts';
import { removeDataDir } from '../support/data-dir.ts';
import { testDatabase } from '../support/database.ts';
import { type ServeProcess, startServeProcess } from '../support/serve-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** The program states 15 seconds; a busy machine may add some. */
const BOUND_MS = 25_000;

const { connectionString } = testDatabase();
let dataDir: string;

beforeAll(async () => {
  dataDir = await temporaryFolder(`heliograph-test-${process.pid}-`);
});
afterAll(() => removeDataDir(dataDir));

function start(command: 'serve' | 'api' | 'worker', more: Readonly<Record<string, string>> = {}): ServeProcess {
  const environment = { DATA_DIR: dataDir, PORT: '0', SECRET_KEY: '5e'.repeat(32), SANDBOX: 'off', ...more };
  return startServeProcess(command, environment);
}

async function addressOf({ ready, errors }: ServeProcess): Promise<URL> {
  const address = (await ready)?.address;
  if (!address) throw new Error(`the program did not start: ${errors()}`);
  return new URL(address);
}

/** Log lines caused by a busy machine, not by the stop: long requests, and connections that take too long. */
const BUSY = /timeout exceeded when trying to connect|due to connection timeout/;

const complaints = ({ errors }: ServeProcess): string[] =>
  errors()
    .split('\n')
    .filter((line) => line !== '' && !BUSY.test(line));

/** The server on the data folder; null when there is none. */
async function postgres() {
  const cluster = await realpath(clusterPath(dataDir)).catch(() => null);
  return (cluster !== null && (await findServer(cluster))) || null;
}

const postgresGone = () => until('the end of PostgreSQL', async () => (await postgres()) === null);

const HEAD = 'POST /api/partner-gateway/v1/session HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

/** Sends half a body. Resolves when the server has read the head. */
async function halfABody(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`${HEAD}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n{"user`);
  await once(socket, 'data');
}

/** Stands before the database, and then goes (`cut`) or stops responding (`silence`). */
async function relayTo(url: string) {
  const { hostname, port } = new URL(url);
  const pairs = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      pairs.add(from);
      from.on('error', () => undefined);
      from.on('data', (chunk) => !silent && to.write(chunk));
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  // Without the parameter that names the socket.
  own.search = '';
  own.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    server.close();
    for (const socket of pairs) socket.destroy();
  };
  return {
    url: own.href,
    cut,
    silence: () => void (silent = true),
    connections: () => pairs.size,
    [Symbol.asyncDispose]: async () => cut(),
  };
}

describe('serve, with its own PostgreSQL, ends and leaves nothing behind', () => {
  test('with an open stream, and a connection that is kept alive', async () => {
    using program = start('serve');
    const { origin, port } = await addressOf(program);
    const { apiKey } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const agent = new Agent({ keepAlive: true });
    const headers = { 'x-api-key': apiKey, accept: 'text/event-stream' };
    const [stream] = await once(
      get(`${origin}/api/partner-gateway/v1/inbox/conversations/stream`, { headers }),
      'response',
    );
    stream.on('error', () => undefined);
    expect(stream.statusCode).toBe(200);
    await once(stream, 'data');
    const [idle] = await once(get({ port, path: '/health/live', agent }), 'response');
    idle.resume();
    program.signal('SIGTERM');
    const { code, ms } = await program.ended;
    expect([code, complaints(program)]).toEqual([0, []]);
    expect(ms).toBeLessThan(BOUND_MS);
    expect(await postgres()).toBeNull();
    agent.destroy();
  });

  test('with the sandbox, behind a proxy', async () => {
    using program = start('serve', {
      SANDBOX: 'on',
      TRUST_PROXY: '127.0.0.1',
      PUBLIC_URL: 'https://gateway.example.com',
    });
    const { origin } = await addressOf(program);
    const { apiKey } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const sent = await fetch(`${origin}/api/message-server/sms/send`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'x-forwarded-proto': 'https', 'content-type': 'application/json' },
      body: JSON.stringify({ phoneNumber: '+393331234567', message: 'Hello' }),
    });
    expect(sent.status).toBe(200);
    program.signal('SIGTERM');
    const { code, ms } = await program.ended;
    expect([code, complaints(program)]).toEqual([0, []]);
    expect(ms).toBeLessThan(BOUND_MS);
    expect(await postgres()).toBeNull();
  });

  test('with a body that was sent half', async () => {
    using program = start('serve');
    await halfABody(Number((await addressOf(program)).port));
    program.signal('SIGTERM');
    const { code, ms } = await program.ended;
    expect([code, ms < BOUND_MS]).toEqual([0, true]);
    expect(await postgres()).toBeNull();
  });

  test('with a PostgreSQL that was killed just before', async () => {
    using program = start('serve');
    await addressOf(program);
    process.kill((await postgres())?.pid ?? 0, 'SIGKILL');
    program.signal('SIGTERM');
    expect((await program.ended).ms).toBeLessThan(BOUND_MS);
    await postgresGone();
  });

  test('at once at a second signal, although the first stop is still waiting', async () => {
    using program = start('serve');
    await halfABody(Number((await addressOf(program)).port));
    program.signal('SIGTERM');
    // Within a second, another signal is taken for the same one. One more may also end a process that is ending already.
    const again = setInterval(() => program.signal('SIGTERM'), 100);
    const { code, ms } = await program.ended;
    clearInterval(again);
    expect([1, null]).toContain(code);
    expect(ms).toBeLessThan(BOUND_MS);
    await postgresGone();
  });

  test('while it is still starting', async () => {
    using program = start('serve');
    await until('PostgreSQL', async () => (await postgres()) ?? undefined);
    program.signal('SIGTERM');
    const { code, ms } = await program.ended;
    expect([code, await program.ready]).toEqual([0, null]);
    expect(ms).toBeLessThan(BOUND_MS);
    await postgresGone();
  });
});

describe.concurrent('on another database server', () => {
  describe.each(['api', 'worker'] as const)('%s ends', (command) => {
    const running = async (url: string): Promise<ServeProcess> => {
      const program = start(command, { DATABASE_URL: url });
      if ((await program.ready) === null) throw new Error(`the program did not start: ${program.errors()}`);
      return program;
    };

    test('with 0 when nothing is wrong', async () => {
      using program = await running(connectionString);
      program.signal('SIGTERM');
      const { code, ms } = await program.ended;
      expect([code, complaints(program)]).toEqual([0, []]);
      expect(ms).toBeLessThan(BOUND_MS);
    });

    test('when the server has gone', async () => {
      await using relay = await relayTo(connectionString);
      using program = await running(relay.url);
      relay.cut();
      program.signal('SIGTERM');
      expect((await program.ended).ms).toBeLessThan(BOUND_MS);
    });

    test('when the server does not respond any more, and says what is left undone', async () => {
      await using relay = await relayTo(connectionString);
      using program = await running(relay.url);
      relay.silence();
      program.signal('SIGTERM');
      const { code, ms } = await program.ended;
      expect(ms).toBeLessThan(BOUND_MS);
      const said = /did not stop cleanly \((.*)\)/.exec(program.errors())?.[1];
      // Without workers nothing is left undone; on a busy machine, closing what is open may take too long as well.
      expect(code).toBe(said === undefined ? 0 : 1);
      if (command === 'worker') expect(said).toContain('worker: did not end in time');
    });

    test('while it waits for a server that never responds', async () => {
      await using relay = await relayTo(connectionString);
      relay.silence();
      using program = start(command, { DATABASE_URL: relay.url });
      await until('its first connection', () => relay.connections() > 0);
      program.signal('SIGTERM');
      expect(await program.ended).toMatchObject({ code: 0 });
    });
  });
});
