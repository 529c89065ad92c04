import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import { createAccount } from '../src/operate/account-commands.ts';
import type { SandboxSmsc } from '../src/sandbox/smsc.ts';
import { type Client, createClient } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { type Nginx, nginxIsMissing, startNginx } from '../test/support/deployment/nginx.ts';
import { makeMp4 } from '../test/support/files/mp4.ts';
import { TEST_CERT } from '../test/support/http/certificate.ts';
import { openEventStream } from '../test/support/http/event-stream.ts';
import { formOf } from '../test/support/http/form.ts';
import { addConnection, runOperatorCommand } from '../test/support/operator.ts';
import { startCarrier } from '../test/support/program.ts';
import { type Replicated, startReplicated } from '../test/support/replication.ts';
import { type ServeProcess, startServeProcess } from '../test/support/serve-process.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { until } from '../test/support/until.ts';
import tls from 'node:tls';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

// The topology of deploy/compose/ha.yaml with plain processes: nginx with the configuration of this repository, two api,
// two worker, a primary with two synchronous standbys. The tests follow one another: each takes something away.

const PG = '/api/partner-gateway/v1';
const MIB = 1024 * 1024;
const missing = nginxIsMissing();

type Stage = {
  readonly replicated: Replicated;
  readonly environment: Readonly<Record<string, string>>;
  readonly pool: Pool;
  readonly smsc: SandboxSmsc;
  readonly apis: readonly ServeProcess[];
  readonly workers: readonly ServeProcess[];
  readonly nginx: Nginx;
  readonly apiKey: string;
  readonly client: Client;
};

async function openStage(closing: AsyncDisposableStack): Promise<Stage> {
  const replicated = await startReplicated({ standbys: 2, synchronous: true });
  closing.defer(replicated.stop);
  const dataDir = await temporaryFolder('heliograph-topology-');
  closing.defer(() => removeDataDir(dataDir));
  const trusted = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...trusted, TEST_CERT]);
  closing.defer(async () => tls.setDefaultCACertificates(trusted));
  const environment = {
    DATABASE_URL: replicated.url,
    DATABASE_URL_READ: replicated.url,
    DATABASE_POOL: '8',
    DATA_DIR: dataDir,
    SECRET_KEY: '5e'.repeat(32),
    TRUST_PROXY: '127.0.0.1',
    PUBLIC_URL: 'https://gateway.example.com',
    SANDBOX: 'off',
    PORT: '0',
  };
  const smsc = await startCarrier('main');
  closing.defer(smsc.close);
  const program = { environment };
  expect(await runOperatorCommand(program, 'migrate')).toMatchObject({ code: 0 });
  const pool = createPool(replicated.url, { max: 2, applicationName: 'test', log: silentLog });
  closing.defer(() => pool.end());
  const { apiKey } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  expect(await addConnection(program, { name: 'main', port: smsc.port })).toMatchObject({ code: 0 });
  const route = ['--channel', 'SMS', '--prefix', '39', '--connection', 'main'];
  expect(await runOperatorCommand(program, 'route', 'add', ...route)).toMatchObject({ code: 0 });
  const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
  expect(await runOperatorCommand(program, 'number', 'assign', ...number)).toMatchObject({ code: 0 });

  const start = (role: 'api' | 'worker'): ServeProcess => closing.use(startServeProcess(role, environment));
  const apis = [start('api'), start('api')];
  const workers = [start('worker'), start('worker')];
  const [first, second] = await Promise.all(apis.map(({ ready }) => ready));
  await Promise.all(workers.map(({ ready }) => ready));
  if (!first?.address || !second?.address) throw new Error(apis.map(({ errors }) => errors()).join('\n'));
  const nginx = closing.use(await startNginx([first.address, second.address]));
  const client = createClient(() => nginx.origin, apiKey);
  return { replicated, environment, pool, smsc, apis, workers, nginx, apiKey, client };
}

/** Sends so many messages, one request each; returns their ids. */
async function sendEach({ client }: Stage, count: number, prefix: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const phoneNumber = `+39333${prefix}${String(n).padStart(4, '0')}`;
    const { messageId } = await client.send({ phoneNumber, message: 'Your code is 1' });
    if (messageId !== null) ids.push(messageId);
  }
  return ids;
}

describe.skipIf(missing !== undefined)('nginx, two api, two worker and a primary with two standbys', () => {
  const closing = new AsyncDisposableStack();
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(closing);
  });
  afterAll(() => closing.disposeAsync());

  test('messages are sent through the proxy, and their receipts arrive', async () => {
    const ids = await sendEach(stage, 20, '01');
    expect(ids).toHaveLength(20);
    await stage.client.untilAll(ids, 'DELIVERED');
  });

  test('one request asks for a thousand messages by their ids', async () => {
    const destinations = Array.from({ length: 1000 }, (_, n) => `+3933402${String(n).padStart(4, '0')}`);
    const { results } = await stage.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
    const ids = results.flatMap(({ id }) => id ?? []);
    expect(await stage.client.statuses(ids)).toHaveLength(1000);
  });

  test('a video of 3 MB is uploaded', async () => {
    const content = Uint8Array.from(makeMp4({ data: Buffer.alloc(3 * MIB, 1) }));
    const answer = await stage.client.request('POST', `${PG}/media`, await formOf({ name: 'a.mp4', content }));
    expect(answer).toMatchObject({ status: 201 });
  });

  test('the program sees HTTPS, and responds at every address itself', async () => {
    const { client, nginx } = stage;
    const answer = await client.request('GET', `${PG}/media`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('strict-transport-security')).not.toBeNull();
    const plain = await fetch(`${nginx.plainOrigin}/docs?a=1`, { redirect: 'manual' });
    expect([plain.status, plain.headers.get('location')]).toEqual([308, 'https://127.0.0.1/docs?a=1']);
  });

  test.each(['/metrics', '/metrics/', '/health/ready', '/health/live', '//metrics', '/%6detrics'])(
    '%s is not for the public',
    async (path) => {
      expect((await stage.client.request('GET', path)).status).toBe(404);
    },
  );

  test('an event of the inbox arrives while its stream stays open', async () => {
    const { apiKey, nginx, smsc } = stage;
    await using stream = await openEventStream(nginx.origin, apiKey);
    expect(stream.status).toBe(200);
    await until('the first event', () => stream.received().includes('event: ready'));
    await smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Ciao' });
    await until('the message', () => stream.received().includes('event: message'));
  });

  test('one api is killed: requests go on', async () => {
    const [first] = stage.apis;
    first?.signal('SIGKILL');
    await first?.ended;
    expect(await sendEach(stage, 20, '03')).toHaveLength(20);
  });

  test('one worker is killed: messages go on', async () => {
    const [first] = stage.workers;
    first?.signal('SIGKILL');
    await first?.ended;
    const ids = await sendEach(stage, 20, '04');
    await stage.client.untilAll(ids, 'DELIVERED');
  });

  test('the primary is lost: its standby is promoted, and messages go on', async () => {
    const [primary, next, other] = stage.replicated.servers;
    if (!primary || !next || !other) throw new Error('no servers');
    await primary.kill();
    await next.promote();
    await other.follow(next);
    const id = await until('an accepted message', () =>
      stage.client.send({ phoneNumber: '+393330500001', message: 'Hello' }).then(
        ({ messageId }) => messageId ?? undefined,
        () => undefined,
      ),
    );
    await stage.client.untilStatus(id, 'DELIVERED');
  });

  test('what is left stops within the time that the set-ups give it', async () => {
    for (const process of [stage.apis[1], stage.workers[1]]) {
      process?.signal('SIGTERM');
      expect(await process?.ended).toMatchObject({ code: 0 });
    }
  });
});

test.runIf(missing !== undefined)('nginx in front of the program', ({ skip }) => skip(missing));
