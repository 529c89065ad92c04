import { afterAll, expect, test } from 'vitest';
import { SENDING_MODES } from '../src/campaigns/audience.ts';
import { CHANNELS, isRich } from '../src/core/channels.ts';
import { createTestDatabase, testDatabase } from '../test/support/database.ts';
import { listSchemaFaults } from './schema-rules.ts';

const { pool } = testDatabase();

test('every table names its kind, has the keys that it needs, and is behind the second wall', async () => {
  expect(await listSchemaFaults(pool)).toEqual([]);
});

test('columns accept the channels and modes that the program has', async () => {
  const { rows } = await pool.query<{ name: string; words: string[] }>(
    `SELECT conname AS name, array(SELECT (regexp_matches(pg_get_constraintdef(oid), '''(\\w+)''', 'g'))[1]) AS words
     FROM pg_constraint WHERE contype = 'c' AND conname ~ '_(channel|sending_mode)_check$'`,
  );
  const kept = (name: string): readonly string[] => {
    if (name.includes('sending_mode')) return SENDING_MODES;
    return /^(sender|template)_/.test(name) ? CHANNELS.filter(isRich) : CHANNELS;
  };
  expect(rows).toEqual(rows.map(({ name }) => ({ name, words: [...kept(name)] })));
  expect(SENDING_MODES.at(-1)?.split('_').toSorted()).toEqual(CHANNELS.toSorted());
});

const own = await createTestDatabase({ empty: true });
afterAll(() => own[Symbol.asyncDispose]());

const SECURE = (table: string) => `
  GRANT SELECT, INSERT ON ${table} TO heliograph_tenant;
  ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON ${table} USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);`;

await own.pool.query(`
  CREATE TABLE carrier (id bigint PRIMARY KEY, name text, secret text);
  COMMENT ON TABLE carrier IS 'shared';
  GRANT SELECT (id, name) ON carrier TO heliograph_tenant;
  CREATE TABLE chunk (id bigint PRIMARY KEY);
  COMMENT ON TABLE chunk IS 'queue';
  CREATE TABLE chunk_note (chunk_id bigint REFERENCES chunk);
  COMMENT ON TABLE chunk_note IS 'queue';
  CREATE TABLE note (account_id bigint NOT NULL, id bigint, ref text, PRIMARY KEY (account_id, id)) PARTITION BY RANGE (id);
  CREATE TABLE note_1 PARTITION OF note FOR VALUES FROM (0) TO (10);
  CREATE UNIQUE INDEX note_ref ON note (ref, account_id, id);
  COMMENT ON TABLE note IS 'facts';
  ${SECURE('note')}
  CREATE TABLE part (account_id bigint NOT NULL, id bigint, n bigint, PRIMARY KEY (account_id, n),
    FOREIGN KEY (account_id, id) REFERENCES note (account_id, id));
  COMMENT ON TABLE part IS 'facts';
  ${SECURE('part')}
  CREATE VIEW note_of_reader WITH (security_invoker = true) AS SELECT * FROM note;`);

/** The faults of the schema after these statements, which are undone. */
async function faultsAfter(statements: string): Promise<string[]> {
  const tx = await own.pool.connect();
  try {
    await tx.query(`BEGIN; ${statements}`);
    return await listSchemaFaults(tx);
  } finally {
    await tx.query('ROLLBACK');
    tx.release();
  }
}

test('tables that keep the rules pass', async () => {
  expect(await faultsAfter('')).toEqual([]);
});

test.each([
  ['CREATE TABLE bad ()', 'bad: needs COMMENT'],
  ["COMMENT ON TABLE carrier IS 'remote'", 'carrier: needs COMMENT'],
  [
    `ALTER TABLE part DROP CONSTRAINT part_pkey, ADD PRIMARY KEY (n, account_id)`,
    'part: holds facts and needs account_id',
  ],
  ['CREATE UNIQUE INDEX bad ON part (n) INCLUDE (account_id)', 'part: holds facts, so the unique index bad'],
  [
    `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
     CREATE TRIGGER bad BEFORE INSERT ON part FOR EACH ROW EXECUTE FUNCTION f()`,
    'part: holds facts and cannot have the trigger bad',
  ],
  ['ALTER TABLE part ADD CONSTRAINT bad FOREIGN KEY (n) REFERENCES chunk', 'part: the foreign key bad leads to chunk'],
  ['ALTER TABLE carrier ADD CONSTRAINT bad FOREIGN KEY (id) REFERENCES chunk', 'carrier: the foreign key bad leads'],
  [
    'ALTER TABLE part ADD CONSTRAINT bad FOREIGN KEY (n, id) REFERENCES note (account_id, id)',
    'part: the foreign key bad leads to note',
  ],
  ['CREATE VIEW bad AS SELECT * FROM note', 'bad: has account_id and needs'],
  ['ALTER TABLE note DISABLE ROW LEVEL SECURITY', 'note: has account_id and needs'],
  ['ALTER POLICY tenant ON note USING (true)', 'note: has account_id and needs'],
  ['ALTER POLICY tenant ON note WITH CHECK (true)', 'note: has account_id and needs'],
  ['CREATE POLICY more ON note FOR SELECT USING (true)', 'note: has account_id and needs'],
  ['REVOKE SELECT ON note FROM heliograph_tenant', 'note: has account_id and needs'],
  ['GRANT SELECT ON note_1 TO heliograph_tenant', 'note_1: the tenant role may use it'],
  ['GRANT INSERT ON carrier TO heliograph_tenant', 'carrier: the tenant role may use it'],
])('%s is found, and nothing else', async (statements, sentence) => {
  expect(await faultsAfter(statements)).toEqual([expect.stringContaining(sentence)]);
});
