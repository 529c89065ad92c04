import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { checkRlsRules } from './rls-rules.ts';

test('every table with account_id is behind the second wall, and the tenant role can use nothing else', async () => {
  await using database = await createTestDatabase();
  expect(await checkRlsRules(database.pool)).toEqual([]);
});

const OWN = "account_id = NULLIF(current_setting('app.account_id', true), '')::bigint";
const GOOD = `
  CREATE TABLE note (account_id bigint NOT NULL, id bigint, text text, PRIMARY KEY (account_id, id)) PARTITION BY RANGE (id);
  CREATE TABLE note_1 PARTITION OF note FOR VALUES FROM (0) TO (10);
  GRANT SELECT, INSERT ON note TO heliograph_tenant;
  ALTER TABLE note ENABLE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON note USING (${OWN});
  CREATE TABLE carrier (id bigint, name text, secret text);
  GRANT SELECT (id, name) ON carrier TO heliograph_tenant;
  CREATE VIEW note_of_reader WITH (security_invoker = true) AS SELECT * FROM note;
`;

test('tables that keep the rules pass', async () => {
  await using database = await createTestDatabase({ empty: true });
  await database.pool.query(GOOD);
  expect(await checkRlsRules(database.pool)).toEqual([]);
});

const VIOLATIONS: [what: string, statements: string, sentence: string][] = [
  ['a new table without a policy', 'CREATE TABLE bad (account_id bigint)', 'bad: has account_id and needs'],
  ['a view of accounts', 'CREATE VIEW bad AS SELECT * FROM note', 'bad: has account_id and needs'],
  ['row-level security that is off', 'ALTER TABLE note DISABLE ROW LEVEL SECURITY', 'note: has account_id and needs'],
  ['a policy that lets all pass', 'ALTER POLICY tenant ON note USING (true)', 'note: has account_id and needs'],
  ['a second policy, which widens the first', 'CREATE POLICY more ON note USING (true)', 'note: has account_id and'],
  ['a second policy for reads', 'CREATE POLICY more ON note FOR SELECT USING (true)', 'note: has account_id and'],
  [
    'writes that are checked otherwise',
    'ALTER POLICY tenant ON note WITH CHECK (true)',
    'note: has account_id and needs',
  ],
  ['no grant', 'REVOKE SELECT ON note FROM heliograph_tenant', 'note: has account_id and needs'],
  [
    'a grant on a partition',
    'GRANT SELECT ON note_1 TO heliograph_tenant',
    'note_1: a partition may only be used through',
  ],
  ['a grant on a whole table of all', 'GRANT SELECT ON carrier TO heliograph_tenant', 'carrier: has no policy, so'],
  [
    'a right to write what is everybody’s',
    'GRANT INSERT ON carrier TO heliograph_tenant',
    'carrier: has no policy, so',
  ],
];

test.each(VIOLATIONS)('%s is found, and nothing else', async (_, statements, sentence) => {
  await using database = await createTestDatabase({ empty: true });
  await database.pool.query(`${GOOD}; ${statements}`);
  const violations = await checkRlsRules(database.pool);
  expect(violations).toHaveLength(1);
  expect(violations[0]).toContain(sentence);
});
