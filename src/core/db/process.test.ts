import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findServer, startFailure } from './embedded-process.ts';

const site = { clusterDir: '/data/postgres', logFile: '/data/postgres.log' };

const SENTENCES: [output: string, sentence: string][] = [
  [
    'FATAL:  could not write to file "pg_wal/xlogtemp.29": No space left on device',
    'The disk of /data/postgres is full',
  ],
  [
    'FATAL:  could not open file "global/pg_control": Permission denied',
    'PostgreSQL may not use /data/postgres: restore the owner',
  ],
  [
    'initdb: error: could not look up effective user ID 10012345: user does not exist',
    'start with a user ID that has an entry in /etc/passwd the first time',
  ],
  ['FATAL:  could not map anonymous shared memory: Cannot allocate memory', 'did not get the memory it needs'],
  ['FATAL:  database files are incompatible with server', '/data/postgres was created by another version'],
  ['spawn /x/postgres ENOENT', 'The built-in PostgreSQL cannot run here'],
  [
    'postgres: error while loading shared libraries: libicuuc.so.60: cannot open',
    'The built-in PostgreSQL cannot run here',
  ],
  [
    'LOG:  starting\nFATAL:  something new\nHINT:  none',
    'did not start: "FATAL:  something new". Its log is /data/postgres.log',
  ],
];

test.each(SENTENCES)('%j is explained with what to do', (output, sentence) => {
  const error = startFailure(output, site);
  expect(error.message).toContain(sentence);
  expect(error.cause).toBe(output);
});

test('a pid file that is damaged, or of a dead process or another program, does not count', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'pid-file-'));
  expect(await findServer(dir)).toBeUndefined();
  for (const pid of ['', 'nonsense', '-1', '0', '999999999', String(process.pid)]) {
    await writeFile(join(dir, 'postmaster.pid'), `${pid}\n${dir}\n1700000000\n5432\n\n127.0.0.1\n0 0\nready\n`);
    expect(await findServer(dir)).toBeUndefined();
  }
  await rm(dir, { recursive: true });
});
