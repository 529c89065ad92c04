import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { MIGRATIONS_DIR, migrate } from '../../src/core/db/migrate.ts';
import { silentLog } from '../../src/core/log.ts';
import { createAndConfirm, mobileNumbers, untilEnded } from '../support/campaigns/campaign.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { TEST_CERT } from '../support/http/certificate.ts';
import { formOf } from '../support/http/form.ts';
import { type Receiver, startReceiver } from '../support/http/receiver.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { OTHER_VERSIONS } from '../support/other-versions.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { createRestrictedDatabase } from '../support/restricted-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { until } from '../support/until.ts';

const PG = '/api/partner-gateway/v1';

/** A server of others: where it is, what to stop afterwards, and the database for the program. */
type Server = { readonly database: AsyncDisposable & TestDatabase; stop(): Promise<void> };

const older = OTHER_VERSIONS.map((version) => ({
  name: `PostgreSQL ${version}`,
  async open(): Promise<Server> {
    const cluster = await startTestCluster(`heliograph-test-${process.pid}-`, version);
    const database = await createTestDatabase({ clusterUrl: cluster.url });
    return { database, stop: async () => cluster[Symbol.asyncDispose]() };
  },
}));
const restricted = {
  name: 'a database with a restricted user and a schema of another name',
  async open(): Promise<Server> {
    const database = await createRestrictedDatabase(inject('clusterUrl'));
    await database.grantAll('app');
    await migrate(database.pool, { dir: MIGRATIONS_DIR, log: silentLog });
    return { database, stop: async () => undefined };
  },
};

describe.each([...older, restricted])('on $name', ({ open }) => {
  let server: Server;
  let folder: string;
  let receiver: Receiver;
  let program: TestProgram;
  beforeAll(async () => {
    [server, folder, receiver] = [await open(), await temporaryFolder('heliograph-test-ca-'), await startReceiver()];
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, TEST_CERT);
    program = await startTestProgram({
      database: server.database,
      environment: {
        DATABASE_URL: server.database.connectionString,
        WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
        WEBHOOK_PORTS: String(receiver.port),
        WEBHOOK_CA_FILE: caFile,
      },
    });
  });
  afterAll(async () => {
    await program[Symbol.asyncDispose]();
    await server.stop();
    await receiver[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function ask(expected: number, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await program.client.request(method, PG + path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(expected);
    return answer.body as Record<string, unknown>;
  }

  test('a message is sent, its receipt arrives, and the webhook tells of both', async () => {
    await ask(201, 'POST', '/webhooks/delivery-status', { callbackUrl: receiver.url });
    const { messageId } = await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
    await program.client.untilStatus(messageId ?? '', 'DELIVERED');
    await until('both events', () => {
      const codes = receiver.requests.map(({ body }) => JSON.parse(body)).filter((e) => e.messageId === messageId);
      return codes.map(({ statusCode }) => statusCode).join() === '1,3';
    });
  });

  test('all messages of a bulk request are delivered', async () => {
    const destinations = mobileNumbers(1000, '+39320');
    const { results } = await program.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
    await program.client.untilAll(
      results.flatMap(({ id }) => id ?? []),
      'DELIVERED',
    );
  });

  test('a campaign reaches every contact of an imported list', async () => {
    const list = await ask(201, 'POST', '/contacts/list', { name: 'Customers' });
    const rows = mobileNumbers(300, '+39334').map((number, n) => `${number};Anna ${n}`);
    const form = await formOf(
      { name: 'a.csv', content: ['Phone Number;First name', ...rows].join('\n') },
      { listId: Number(list['id']) },
    );
    const made = await program.client.request('POST', `${PG}/contacts/upload`, form);
    expect([200, 202]).toContain(made.status);
    const { importId } = made.body as { importId: number };
    await until(
      'the import',
      async () => (await ask(200, 'GET', `/contacts/imports/${importId}`))['completedAt'] !== null,
    );
    const again = await program.client.request('POST', `${PG}/contacts/upload`, form);
    expect(again.body).toMatchObject({ summary: { created: 0, updated: 300 } });
    const campaign = await createAndConfirm(program.client, { contactListIds: [list['id']] });
    expect(await untilEnded(program.client, campaign)).toMatchObject({ totalSuccess: 300, totalPending: 0 });
  });

  test('contacts are found by a part of their name', async () => {
    const { total } = await ask(200, 'GET', '/contacts?search=anna%2012');
    expect(total).toBe(11);
  });

  test('a message from a person opens a conversation, which is read and archived', async () => {
    const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
    await runOperatorCommand(program, 'number', 'assign', ...number);
    await program.smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Ciao' });
    const path = '/inbox/conversations';
    const { chatId } = await until('the conversation', async () => {
      const { data } = (await ask(200, 'GET', path)) as { data: { chatId: string; unreadCount: number }[] };
      return data.find(({ unreadCount }) => unreadCount === 1);
    });
    await ask(204, 'PATCH', `${path}/${chatId}/archive`);
    await program.smsc.injectMo({ source: '393331234567', destination: '4400', text: 'Hello?' });
    await until('the conversation to come back', async () => {
      const { data } = (await ask(200, 'GET', path)) as { data: { unreadCount: number }[] };
      return data.some(({ unreadCount }) => unreadCount === 2);
    });
  });

  test('the history is exported', async () => {
    const span = { startDateTime: new Date(Date.now() - 3_600_000), endDateTime: new Date(Date.now() + 3_600_000) };
    const { exportId } = await ask(202, 'POST', '/messages/history/export', span);
    const made = await until('the export', async () => {
      const job = await ask(200, 'GET', `/exports/${exportId}`);
      return job['status'] !== 'PENDING' && job;
    });
    expect(made).toMatchObject({ status: 'COMPLETED', rows: 1301 });
  });

  test('doctor names the version and finds nothing wrong', async () => {
    const { answer } = await runOperatorCommand(program, 'doctor');
    const faults = (answer as { name: string; ok: boolean; detail: string }[]).filter(({ ok }) => !ok);
    // The servers of tests are not durable, and it says so.
    expect(faults).toEqual([
      expect.objectContaining({ name: 'database', detail: expect.stringMatching(/^PostgreSQL 1/) }),
    ]);
  });
});
