import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MIGRATIONS_DIR, migrate } from '../../src/core/db/migrate.ts';
import { silentLog } from '../../src/core/log.ts';
import { insertNumber } from '../../src/messages/inbound-store.ts';
import { createAndConfirm, mobileNumbers, untilEnded } from '../support/campaigns/campaign.ts';
import { type Client, createClient } from '../support/client.ts';
import { removeDataDir } from '../support/data-dir.ts';
import { TEST_CERT } from '../support/http/certificate.ts';
import { type Receiver, startReceiver } from '../support/http/receiver.ts';
import { findLastRelease, unpackProgram } from '../support/last-release.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { type ServeProcess, startServeProcess } from '../support/serve-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const PG = '/api/partner-gateway/v1';
const NUMBER = '4400';
const BULK = 20;
/** Five processes start, most of them next to others that work. */
const TIMEOUT_MS = 900_000;
/** Migration as a later release may add it: neither program here knows it. */
const NEXT_MIGRATION = `ALTER TABLE message ADD COLUMN of_next_release text;
CREATE TABLE of_next_release (id bigint PRIMARY KEY);
COMMENT ON TABLE of_next_release IS 'shared';`;

const release = findLastRelease();
const reason = 'missing' in release ? `: not run, because ${release.missing}` : '';

test.skipIf('missing' in release)(
  `while an installation is upgraded, the last release and this program do each other's work${reason}`,
  { timeout: TIMEOUT_MS },
  async () => {
    await using opened = new AsyncDisposableStack();
    const folder = opened.adopt(await temporaryFolder(`heliograph-test-${process.pid}-`), removeDataDir);
    const oldMain = await unpackProgram('commit' in release ? release.commit : '', join(folder, 'last-release'));
    const receiver = opened.use(await startReceiver());
    const program = opened.use(await openProgram(receiver, folder));
    const processes: ServeProcess[] = [];
    const start = (version: 'old' | 'new', command: 'api' | 'worker'): ServeProcess => {
      const main = version === 'old' ? oldMain : undefined;
      const started = opened.use(startServeProcess(command, { ...program.environment, LOG_LEVEL: 'warn' }, main));
      processes.push(started);
      return started;
    };
    const ground: Ground = { program, receiver, next: 0 };

    // The old processes start on the new schema, as after a restart in the middle of the upgrade.
    const [oldApi, oldWorker] = [start('old', 'api'), start('old', 'worker')];
    const old = await clientOf(program, oldApi);
    await registerWebhook(old, receiver);
    await exchange(ground, old, old);
    const [newApi, newWorker] = [start('new', 'api'), start('new', 'worker')];
    const current = await clientOf(program, newApi);
    await newWorker.ready;
    await exchange(ground, old, current);
    await exchange(ground, current, old);
    await stop(oldWorker);
    await exchange(ground, old, current);
    const againOld = start('old', 'worker');
    await againOld.ready;
    await stop(newWorker);
    await exchange(ground, current, old);

    for (const each of [oldApi, newApi, againOld]) await stop(each);
    expect(processes.flatMap(listErrors)).toEqual([]);
    expect(program.smsc.ledger.counts()).toMatchObject({ accepted: ground.next, violations: 0 });
  },
);

type Ground = {
  readonly program: TestProgram;
  readonly receiver: Receiver;
  /** The number of messages so far; each goes to another number. */
  next: number;
};

/** The database as this program makes it, and a later one; the carrier; and no process of the program yet. */
async function openProgram(receiver: Receiver, folder: string): Promise<TestProgram> {
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  const program = await startTestProgram({
    roles: { api: false, worker: false },
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
    },
  });
  await program.stop();
  const dir = join(folder, 'migrations');
  await cp(MIGRATIONS_DIR, dir, { recursive: true });
  await writeFile(join(dir, '9999_of_next_release.sql'), NEXT_MIGRATION);
  expect(await migrate(program.pool, { dir, log: silentLog })).toEqual(['9999_of_next_release']);
  const { rows } = await program.pool.query('SELECT id FROM connection');
  await insertNumber(program.pool, {
    connectionId: rows[0].id,
    number: NUMBER,
    accountId: program.account.accountId,
  });
  return program;
}

async function clientOf({ account }: TestProgram, api: ServeProcess): Promise<Client> {
  const address = (await api.ready)?.address;
  if (!address) throw new Error(`the API did not start: ${api.errors()}`);
  return createClient(() => address, account.apiKey);
}

async function registerWebhook(client: Client, receiver: Receiver): Promise<void> {
  const body = { callbackUrl: `${receiver.url}/events` };
  expect(await client.request('POST', `${PG}/webhooks/delivery-status`, { body })).toMatchObject({ status: 201 });
}

/** Sends everything through one program, and sees through the other one that it is done. */
async function exchange(ground: Ground, sender: Client, reader: Client): Promise<void> {
  const { program, receiver } = ground;
  const numbers = (count: number): string[] => mobileNumbers(count, '+39333', (ground.next += count) - count);
  const [destination = ''] = numbers(1);
  const { messageId } = await sender.send({ phoneNumber: destination, message: 'Your code is 1' });
  const { results } = await sender.bulk({
    messages: [{ destinations: numbers(BULK), sender: 'Acme', body: 'For all' }],
  });
  const campaign = await createAndConfirm(sender, { destinations: numbers(BULK) });
  const text = `Hello ${ground.next}`;
  await program.smsc.injectMo({ source: destination.slice(1), destination: NUMBER, text });

  const ids = [messageId ?? '', ...results.map(({ id }) => id ?? '')];
  await reader.untilAll(ids, 'DELIVERED');
  expect(await untilEnded(reader, campaign)).toMatchObject({ totalSuccess: BULK, totalFailed: 0 });
  await until('the inbound message in the inbox', async () => {
    const { body } = await reader.request('GET', `${PG}/inbox/conversations`);
    return JSON.stringify(body).includes(text);
  });
  await until('the webhooks of the deliveries', () =>
    ids.every((id) => receiver.requests.some(({ body }) => body.includes(id) && body.includes('"statusCode":3'))),
  );
}

async function stop(started: ServeProcess): Promise<void> {
  started.signal('SIGTERM');
  expect((await started.ended).code).toBe(0);
}

/**
 * The lines of a log at level error, and what is no line of it: a statement that fails on the schema of the other release.
 * That a session took long to open says only that the machine is busy.
 */
const listErrors = ({ errors }: ServeProcess): string[] =>
  errors()
    .split('\n')
    .filter((line) => line !== '' && !/"level":"warn"|timeout exceeded when trying to connect/.test(line));
