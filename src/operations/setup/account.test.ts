import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { countAccounts } from '../../identity/accounts/sql.ts';
import { createSecretReader } from '../../platform/secret-input.ts';
import { setUpAccount } from './account.ts';
import { createAnswers } from './answers.ts';

const { pool } = testDatabase();

const run = (flags: Readonly<Record<string, string>>) => {
  const secrets = createSecretReader({ stdin: undefined, stderr: { write: () => true }, warn: () => undefined });
  return setUpAccount(pool, createAnswers({ flags, ask: null, say: () => undefined, secrets }));
};

test('a name that does not fit is refused by its option, not by the field of a request', async () => {
  await expect(run({ account: 'x'.repeat(201) })).rejects.toThrow(/^--account: must have 1 to 200 characters$/);
});

test('of two runs at the same time one creates the first account, and the next run keeps it', async () => {
  const made = await Promise.all([run({ account: 'One' }), run({ account: 'Two' })]);
  expect(made.filter(({ created }) => created !== null)).toHaveLength(1);
  expect(made.filter(({ done }) => done.changed)).toHaveLength(1);
  expect(await countAccounts(pool)).toBe(1);
  expect(await run({ account: 'Three' })).toMatchObject({
    created: null,
    done: { detail: expect.stringMatching(/^kept: (One|Two)$/) },
  });
});
