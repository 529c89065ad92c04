import { randomBytes } from 'node:crypto';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { createSecretKey } from '../core/secrets.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { findConnection, insertConnection } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import { insertRoute, listRoutes } from '../routing/routes.ts';
import { retireSmsc, startSmsc } from './sandbox.ts';
import { isSandboxWanted } from './sandbox-store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE connection, route RESTART IDENTITY CASCADE`));

const key = createSecretKey(randomBytes(32));
const real = () => insertConnection(pool, { name: 'carrier', kind: 'smpp', sandbox: false, settings: {} });
async function start() {
  const smsc = await startSmsc(pool, key);
  onTestFinished(() => smsc.close());
  return smsc;
}

test('the sandbox is wanted while no real carrier is configured, unless the setting decides', async () => {
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(true);
  await start();
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(true);
  await real();
  expect(await isSandboxWanted({ sandbox: 'auto' }, pool)).toBe(false);
  expect(await isSandboxWanted({ sandbox: 'on' }, pool)).toBe(true);
  expect(await isSandboxWanted({ sandbox: 'off' }, pool)).toBe(false);
});

test('a start sets the port of its connection, and routes every SMS without another route to it', async () => {
  await start();
  const smsc = await start();
  const connection = await findConnection(pool, { name: 'sandbox' });
  expect(connection).toMatchObject({ sandbox: true, settings: { host: '127.0.0.1', port: smsc.port } });
  expect(connection && secretOf(connection, key)).toBe('sandbox');
  expect(await listRoutes(pool)).toMatchObject([{ channel: 'SMS', prefix: '', connection: 'sandbox' }]);
});

test('receipts that an earlier run owed are sent by the next one, but not those of other carriers', async () => {
  await start();
  const connectionId = (await findConnection(pool, { name: 'sandbox' }))?.id ?? 0;
  const owed = { A1: connectionId, A2: connectionId, B1: connectionId + 1 };
  for (const [carrierId, of] of Object.entries(owed)) {
    const id = newId();
    await insertMessages(pool, [newMessage({ id, connectionId: of })]);
    const outcome = { kind: 'accepted', carrierIds: [carrierId] } as const;
    await settleOutcomes(pool, [resultOf(id, outcome, { connectionId: of })], false);
  }
  const smsc = await start();
  await expect.poll(() => smsc.waiting()).toBe(2);
  expect(smsc.ledger.counts().receipts).toBe(2);
});

test('every route of an operator has precedence over that of the sandbox', async () => {
  await start();
  const { id: connectionId = 0 } = (await real()) ?? {};
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId, priority: 100 });
  expect((await listRoutes(pool)).map((route) => route.connection)).toEqual(['carrier', 'sandbox']);
});

test('a retired sandbox gets no messages, which would wait for ever', async () => {
  await start();
  await retireSmsc(pool);
  expect(await listRoutes(pool)).toEqual([]);
});

test('retiring a sandbox that never existed, or a real carrier of that name, changes nothing', async () => {
  await retireSmsc(pool);
  const made = await insertConnection(pool, { name: 'sandbox', kind: 'smpp', sandbox: false, settings: {} });
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: made?.id ?? 0, priority: 100 });
  await retireSmsc(pool);
  expect(await listRoutes(pool)).toHaveLength(1);
});
