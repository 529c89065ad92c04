import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { removeDeadSockets, socketFolder } from './embedded-settings.ts';

test('the socket is in the cluster, where the path of the longest port fits the limit of every system', () => {
  const longest = `/${'x'.repeat(87)}`;
  expect(socketFolder('/var/lib/heliograph/data/postgres', 'linux')).toBe('/var/lib/heliograph/data/postgres');
  expect([socketFolder(longest, 'linux'), socketFolder(`${longest}x`, 'linux')]).toEqual([longest, null]);
  expect(Buffer.byteLength(`${longest}/.s.PGSQL.65535`)).toBe(103);
});

test.each(['/data,more/postgres', '/da ta/postgres', '/d"ata/postgres', '/däta/postgres', '@data'])(
  'there is no socket in %s, whose name the setting would have to quote',
  (dir) => expect(socketFolder(dir, 'linux')).toBeNull(),
);

test('there is no socket on Windows', () => expect(socketFolder('/data/postgres', 'win32')).toBeNull());

test('sockets of servers that no longer run are removed, and no others', async () => {
  const dir = join(await temporaryFolder('heliograph-test-'), 'postgres');
  await mkdir(dir);
  const files = { '.s.PGSQL.1': '', '.s.PGSQL.1.lock': '11\n', '.s.PGSQL.2': '', '.s.PGSQL.2.lock': '22\n' };
  const others = { '.s.PGSQL.3.lock': '', PG_VERSION: '18\n' };
  for (const [name, text] of Object.entries({ ...files, ...others })) await writeFile(join(dir, name), text);
  await removeDeadSockets(dir, async (pid) => pid === 22);
  expect((await readdir(dir)).toSorted()).toEqual(['.s.PGSQL.2', '.s.PGSQL.2.lock', '.s.PGSQL.3.lock', 'PG_VERSION']);
});
