import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { checkAddress } from './doctor-checks.ts';

const database = testDatabase();
const LOCAL = { publicUrl: 'http://127.0.0.1:8080' };

const insert = (name: string, kind: string, sandbox: boolean) =>
  database.pool.query(
    `INSERT INTO connection (name, kind, sandbox, settings, secret) VALUES ($1, $2, $3, '{}', ''::bytea)`,
    [name, kind, sandbox],
  );

test('an address of this machine alone is a fault once a real carrier posts callbacks to it, and not before', async () => {
  await insert('trial', 'whatsapp', true);
  await insert('smpp', 'smpp', false);
  expect(await checkAddress(LOCAL, database.pool)).toMatchObject({ name: 'address', ok: true });
  await insert('meta', 'whatsapp', false);
  const found = await checkAddress(LOCAL, database.pool);
  expect(found).toMatchObject({ ok: false, advice: expect.stringContaining('PUBLIC_URL') });
  expect(found.detail).toMatch(/callbacks are expected there: meta$/);
  const published = { publicUrl: 'https://sms.example.com' };
  expect(await checkAddress(published, database.pool)).toMatchObject({ ok: true, detail: 'https://sms.example.com' });
});
