import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import * as db from './connection-store.ts';
import { failOver, removeConnection } from './connections.ts';
import { deleteRoute, insertRoute } from './routes.ts';

const { pool } = testDatabase();

beforeEach(async () => {
  await reset(pool, sql`TRUNCATE connection, dispatch_chunk RESTART IDENTITY CASCADE`);
  await db.insertConnection(pool, { name: 'old', kind: 'smpp', sandbox: false, settings: {} });
  await db.insertConnection(pool, { name: 'new', kind: 'smpp', sandbox: false, settings: {} });
});

const remove = (name = 'old') => transaction(pool, (tx) => removeConnection(tx, { name, by: 'ada' }));
const names = async () => (await db.listConnections(pool)).map(({ name }) => name);

test('a connection that nothing uses is removed, also one that was down', async () => {
  await failOver(pool, { deadAfterMs: 1000 });
  await remove();
  expect(await names()).toEqual(['new']);
  await expect(remove()).rejects.toMatchObject({ code: 'not_found' });
});

test('a connection with routes is not removed, and the error says what to do', async () => {
  const { id } = await insertRoute(pool, { channel: 'SMS', prefix: '39', connectionId: 1, priority: 100 });
  await expect(remove()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('route remove') });
  await deleteRoute(pool, { id });
  await remove();
  expect(await names()).toEqual(['new']);
});

test('a connection with waiting messages is not removed, and messages of others no longer move to a removed one', async () => {
  await queueMessages(pool, { count: 3, connectionId: 1 });
  await queueMessages(pool, { connectionId: 2, alternates: [1] });
  await expect(remove()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^Messages wait for connection old \(3\).* resume old/),
  });
  expect((await listChunks(pool)).flatMap((chunk) => chunk.alternates)).toEqual([1]);
  await exec(pool, sql`DELETE FROM dispatch_chunk WHERE connection_id = 1`);
  await remove();
  expect((await listChunks(pool)).flatMap((chunk) => chunk.alternates)).toEqual([]);
});

test('a connection with numbers is not removed', async () => {
  await exec(
    pool,
    sql`WITH owner AS (INSERT INTO account (name) VALUES ('Acme') RETURNING id)
        INSERT INTO inbound_number (connection_id, number, account_id) SELECT 1, '12345', id FROM owner`,
  );
  await expect(remove()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('number remove') });
  expect(await names()).toEqual(['old', 'new']);
});
