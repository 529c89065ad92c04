import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { createSecretKey } from '../core/secrets.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { createAccount } from '../operate/account-commands.ts';
import { findConnection, insertConnection } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import { listRegisteredSenders } from '../routing/senders.ts';
import { insertTemplate, listUsableTemplates } from '../templates/store.ts';
import { RCS_NAME, readSandboxInbound, retireSandboxNetworks, startSandboxNetworks, WHATSAPP_NAME } from './sandbox.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE connection, sender, template RESTART IDENTITY CASCADE`));

const key = createSecretKey(randomBytes(32));
async function start() {
  const networks = await startSandboxNetworks(pool, key);
  onTestFinished(() => networks.close().catch(() => undefined));
  return networks;
}
const secretsOf = async (name: string): Promise<Record<string, string>> => {
  const connection = await findConnection(pool, { name });
  return connection ? JSON.parse(secretOf(connection, key)) : {};
};
const templates = async (accountId: number, channel: 'WHATSAPP' | 'RCS' = 'WHATSAPP') => {
  const filter = { accountId, channel, status: null, search: null };
  return (await listUsableTemplates(pool, filter, { limit: 100, offset: 0 })).map(({ id, name }) => `${id} ${name}`);
};

test('every account has a number, an agent and approved templates', async () => {
  const { graph } = await start();
  expect(await listRegisteredSenders(pool)).toMatchObject([
    { channel: 'WHATSAPP', identity: graph.numbers[0]?.id, ownerId: null },
    { channel: 'RCS', identity: 'sandbox', ownerId: null },
  ]);
  expect([(await templates(1)).length, (await templates(2, 'RCS')).length]).toEqual([2, 2]);
});

test('the next start keeps the ids, and what an account created at the network before', async () => {
  const first = await start();
  const [common, whatsapp, rcs] = [await templates(1), await secretsOf(WHATSAPP_NAME), await secretsOf(RCS_NAME)];
  const { accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' });
  const connectionId = (await findConnection(pool, { name: WHATSAPP_NAME }))?.id ?? 0;
  const own = { channel: 'WHATSAPP', id: '900000000000077', ownerId: accountId, connectionId, name: 'own' } as const;
  const content = [{ type: 'BODY', text: 'Mine' }];
  const rest = { language: 'en', category: 'UTILITY', status: 'REJECTED', headerLink: null, named: false } as const;
  await insertTemplate(pool, { ...own, ...rest, content, variables: [] });
  await first.close();

  const { graph } = await start();
  expect(await templates(accountId + 1)).toEqual(common);
  expect(await templates(accountId)).toContain('900000000000077 own');
  expect(graph.templates.all().find(({ id }) => id === own.id)).toMatchObject({ name: 'own', status: 'REJECTED' });
  // The signing secrets are new in each life; the key of the service account takes a second to make.
  expect((await secretsOf(WHATSAPP_NAME))['appSecret']).not.toBe(whatsapp['appSecret']);
  expect((await secretsOf(RCS_NAME))['clientToken']).not.toBe(rcs['clientToken']);
  expect((await secretsOf(RCS_NAME))['privateKey']).toBe(rcs['privateKey']);
});

test('receipts that an earlier run owed are sent once the callbacks are connected, on both channels', async () => {
  const first = await start();
  const number = first.graph.numbers[0]?.id ?? '';
  const owed = [
    { name: WHATSAPP_NAME, channel: 'WHATSAPP', sender: number, carrierId: 'wamid.owed' },
    { name: RCS_NAME, channel: 'RCS', sender: 'sandbox', carrierId: newId() },
  ] as const;
  for (const { name, channel, sender, carrierId } of owed) {
    const connectionId = (await findConnection(pool, { name }))?.id ?? 0;
    const message = newMessage({ id: newId(), connectionId, channel, sender });
    await insertMessages(pool, [message]);
    const outcome = { kind: 'accepted', carrierIds: [carrierId] } as const;
    await settleOutcomes(pool, [resultOf(message.id, outcome, { connectionId })], false);
  }
  await first.close();

  const second = await start();
  const { origin, heard } = await listenAsProgram();
  await second.startCallbacks(origin);
  for (const { carrierId } of owed) await expect.poll(() => heard().includes(carrierId)).toBe(true);
});

/** Authenticates to the networks as the program does, and keeps their reports: on RCS out of its envelope. */
async function listenAsProgram() {
  const bodies: string[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const challenge = new URL(request.url ?? '', 'http://x').searchParams.get('hub.challenge');
    const body = await text(request);
    const { secret = '', message } = body === '' ? {} : JSON.parse(body);
    bodies.push(message ? Buffer.from(message.data, 'base64').toString() : body);
    response.end(challenge ?? secret);
  }
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, heard: () => bodies.join('\n') };
}

test('a retired sandbox leaves no sender and no common template', async () => {
  await start();
  await retireSandboxNetworks(pool);
  expect(await listRegisteredSenders(pool)).toEqual([]);
  expect([await templates(1), await templates(1, 'RCS')]).toEqual([[], []]);
});

test('retiring a sandbox that never existed, or a real connection of that name, changes nothing', async () => {
  await retireSandboxNetworks(pool);
  await insertConnection(pool, { name: RCS_NAME, kind: 'rcs', sandbox: false, settings: {} });
  await retireSandboxNetworks(pool);
  expect(await findConnection(pool, { name: RCS_NAME })).toBeDefined();
});

test.each(['', 'no JSON', '{}', '{"channel":"FAX","from":"+39"}', '{"channel":"SMS","text":"x"}'])(
  'a payload of others, %j, writes nothing',
  (payload) => expect(readSandboxInbound(payload)).toBeNull(),
);
