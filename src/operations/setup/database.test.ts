import { mkdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { createSecretReader } from '../../platform/secret-input.ts';
import { createAnswers, type Flags } from './answers.ts';
import { setUpDatabase } from './database.ts';

async function folderOfData(): Promise<string> {
  const folder = await temporaryFolder('heliograph-setup-');
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'data');
}

/** Answers by these options; a person who is asked for the database says what `asked` returns. */
function answersOf(flags: Flags, asked: () => string = () => expect.fail('nobody is to be asked')) {
  const secrets = createSecretReader({ stdin: undefined, stderr: { write: () => true }, warn: () => undefined });
  return createAnswers({ flags, ask: async () => asked(), say: () => undefined, secrets });
}

test('a folder for the data in the settings, as packages have it, does not answer which database is used', async () => {
  const dataDir = await folderOfData();
  const known = { DATA_DIR: dataDir };
  const questions: string[] = [];
  const answers = answersOf({}, () => {
    questions.push('database');
    return 'built-in';
  });
  expect(await setUpDatabase(answers, known)).toMatchObject({ settings: { DATA_DIR: dataDir } });
  expect(questions).toEqual(['database']);
  await mkdir(join(dataDir, 'postgres'));
  expect(await setUpDatabase(answersOf({}), known)).toMatchObject({ detail: `the built-in PostgreSQL in ${dataDir}` });
});

test('a relative folder is absolute in the settings, because the service starts elsewhere', async () => {
  const dataDir = await folderOfData();
  const flags = { dataDir: relative(process.cwd(), dataDir), database: 'built-in' };
  expect((await setUpDatabase(answersOf(flags), {})).settings).toEqual({ DATA_DIR: dataDir });
  await expect(setUpDatabase(answersOf({ dataDir: '~/data' }), {})).rejects.toThrow('--data-dir: must be the path');
});

test('a URL is taken only if a PostgreSQL answers there', async () => {
  const dataDir = await folderOfData();
  const url = inject('clusterUrl');
  const settings = (databaseUrl: string) => setUpDatabase(answersOf({ dataDir, databaseUrl }), {});
  expect((await settings(url)).settings).toEqual({ DATA_DIR: dataDir, DATABASE_URL: url });
  await expect(settings('postgres://u:hidden@127.0.0.1:1/db')).rejects.toThrow(/^Nothing answers at the address/);
  const refused = await settings('postgres//u:hidden@host/db').catch((error: unknown) => String(error));
  expect(refused).toContain('--database-url: must be a URL such as postgres://');
  expect(refused).not.toContain('hidden');
});

test('a word that is no database, and the built-in one beside a URL, are refused', async () => {
  const dataDir = await folderOfData();
  const run = (flags: Flags, known = {}) => setUpDatabase(answersOf({ dataDir, ...flags }), known);
  await expect(run({ database: 'Own' })).rejects.toThrow('--database: must be one of own, built-in');
  const url = inject('clusterUrl');
  await expect(run({ database: 'built-in', databaseUrl: url })).rejects.toThrow('not with --database-url');
  await expect(run({ database: 'built-in' }, { DATABASE_URL: url })).rejects.toThrow('remove it there first');
});
