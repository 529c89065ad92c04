import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { sql } from '../core/db/query.ts';
import { createSecretKey } from '../core/secrets.ts';
import { type Connection, findConnection, updateConnectionSettings } from './connection-store.ts';
import { createConnection, secretOf, updateConnection } from './connections.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE connection CASCADE`));

const key = createSecretKey(randomBytes(32));
const settings = { host: 'smsc.example', systemId: 'gateway' };
const input = (name = 'carrier') =>
  ({ name, kind: 'smpp', settings, secret: { password: 'pässword' }, sandbox: false }) as const;
async function find(name: string): Promise<Connection> {
  const connection = await findConnection(pool, { name });
  if (!connection) throw new Error(`no connection ${name}`);
  return connection;
}

test('a password is stored sealed, and is opened unchanged', async () => {
  await createConnection(pool, key, input());
  const connection = await find('carrier');
  expect(connection.secret.includes('pässword')).toBe(false);
  expect(JSON.stringify(connection.settings)).not.toContain('pässword');
  expect(secretOf(connection, key)).toBe('pässword');
});

test('settings are filled in with their defaults', async () => {
  await createConnection(pool, key, input());
  expect((await find('carrier')).settings).toMatchObject({ ...settings, port: 2775, window: 10, binds: 1 });
});

test('neither another key nor the row of another connection opens it', async () => {
  await createConnection(pool, key, input('one'));
  const { id } = await createConnection(pool, key, input('two'));
  const one = await find('one');
  expect(() => secretOf(one, createSecretKey(randomBytes(32)))).toThrow('another key');
  await updateConnectionSettings(pool, { id, settings, secret: one.secret });
  const moved = await find('two');
  expect(() => secretOf(moved, key)).toThrow();
});

test('a name that is taken is a conflict, and nothing is stored', async () => {
  await createConnection(pool, key, input());
  const again = { ...input(), settings: { ...settings, host: 'other.example' } };
  await expect(createConnection(pool, key, again)).rejects.toMatchObject({ code: 'conflict' });
  expect((await find('carrier')).settings).toMatchObject(settings);
});

test.each(['', 'my carrier', '-carrier', 'carrier\n', 'ç', 'x'.repeat(64)])('the name %j is refused', async (name) => {
  await expect(createConnection(pool, key, input(name))).rejects.toMatchObject({
    code: 'invalid',
    details: [{ field: 'name' }],
  });
});

test.each([{}, { host: 'x' }, { ...settings, port: 0 }, { ...settings, windows: 5 }])(
  'invalid settings are refused and not stored: %j',
  async (wrong) => {
    await expect(createConnection(pool, key, { ...input(), settings: wrong })).rejects.toMatchObject({
      code: 'invalid',
    });
    expect(await findConnection(pool, { name: 'carrier' })).toBeUndefined();
  },
);

test('a change stores new settings and a new password, and raises the version', async () => {
  await createConnection(pool, key, input());
  const before = await find('carrier');
  await updateConnection(pool, key, before, { settings: { ...settings, window: 50 }, secret: { password: 'new' } });
  const after = await find('carrier');
  expect(secretOf(after, key)).toBe('new');
  expect(after.settings).toMatchObject({ window: 50 });
  expect(after.version).toBeGreaterThan(before.version);
  const wrong = updateConnection(pool, key, before, { settings: {}, secret: { password: 'newer' } });
  await expect(wrong).rejects.toMatchObject({ code: 'invalid' });
  expect(secretOf(await find('carrier'), key)).toBe('new');
});
