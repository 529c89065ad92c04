import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { checkTableKinds } from './table-kinds.ts';

test('every table of this program names its kind and has the keys that its kind needs', async () => {
  await using database = await createTestDatabase();
  expect(await checkTableKinds(database.pool)).toEqual([]);
});

const GOOD = `
  CREATE TABLE account (id bigint PRIMARY KEY);
  COMMENT ON TABLE account IS 'shared';
  CREATE TABLE chunk (id bigint PRIMARY KEY);
  COMMENT ON TABLE chunk IS 'queue';
  CREATE TABLE message (account_id bigint NOT NULL REFERENCES account, id bigint, ref text, PRIMARY KEY (account_id, id));
  COMMENT ON TABLE message IS 'facts';
`;

test('tables that keep the rules pass, partitions included', async () => {
  await using database = await createTestDatabase({ empty: true });
  await database.pool.query(`${GOOD}
    CREATE UNIQUE INDEX message_ref ON message (ref, account_id);
    CREATE TABLE part (account_id bigint NOT NULL, message_id bigint, n int, PRIMARY KEY (account_id, n),
      FOREIGN KEY (account_id, message_id) REFERENCES message (account_id, id)) PARTITION BY RANGE (n);
    COMMENT ON TABLE part IS 'facts';
    CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (2);
    CREATE TABLE chunk_note (chunk_id bigint REFERENCES chunk, account_id bigint REFERENCES account);
    COMMENT ON TABLE chunk_note IS 'queue';`);
  expect(await checkTableKinds(database.pool)).toEqual([]);
});

const VIOLATIONS: [what: string, statements: string, sentence: string][] = [
  [
    'no comment',
    'CREATE TABLE bad ()',
    "bad: needs COMMENT ON TABLE bad IS 'facts', 'queue' or 'shared', and has none",
  ],
  ['another comment', "COMMENT ON TABLE chunk IS 'remote'", "and has 'remote'"],
  [
    'no account',
    'ALTER TABLE message DROP COLUMN account_id CASCADE',
    'message: holds facts and needs a column account_id NOT NULL',
  ],
  [
    'an account that may be null',
    "CREATE TABLE bad (account_id bigint); COMMENT ON TABLE bad IS 'facts'",
    'bad: holds facts and needs a column account_id NOT NULL',
  ],
  [
    'no primary key',
    'ALTER TABLE message DROP CONSTRAINT message_pkey',
    'message: holds facts and needs a primary key that begins with account_id',
  ],
  [
    'a primary key that begins with another column',
    'ALTER TABLE message DROP CONSTRAINT message_pkey, ADD PRIMARY KEY (id, account_id)',
    'message: holds facts and needs a primary key that begins with account_id',
  ],
  [
    'a unique index without the account',
    'CREATE UNIQUE INDEX bad ON message (ref)',
    'the unique index bad must contain account_id',
  ],
  [
    'a unique index that only includes the account',
    'CREATE UNIQUE INDEX bad ON message (ref) INCLUDE (account_id)',
    'the unique index bad must contain account_id',
  ],
  [
    'a unique constraint without the account',
    'ALTER TABLE message ADD CONSTRAINT bad UNIQUE (ref)',
    'the unique index bad must',
  ],
  [
    'a trigger',
    `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
     CREATE TRIGGER bad BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION f()`,
    'message: holds facts and cannot have the trigger bad',
  ],
  [
    'a foreign key between tables of facts that crosses accounts',
    `CREATE TABLE part (account_id bigint, id bigint, owner bigint, PRIMARY KEY (account_id, id),
       CONSTRAINT bad FOREIGN KEY (owner, id) REFERENCES message (account_id, id)); COMMENT ON TABLE part IS 'facts'`,
    'part: the foreign key bad between tables of facts must pair account_id with account_id of message',
  ],
  [
    'a foreign key from facts to a queue',
    'ALTER TABLE message ADD CONSTRAINT bad FOREIGN KEY (id) REFERENCES chunk (id)',
    'message: the foreign key bad refers from a table of kind facts to chunk of kind queue',
  ],
  [
    'a foreign key from a shared table to a queue',
    'ALTER TABLE account ADD CONSTRAINT bad FOREIGN KEY (id) REFERENCES chunk (id)',
    'account: the foreign key bad refers from a table of kind shared to chunk of kind queue',
  ],
  [
    'a foreign key from a queue to facts',
    `CREATE TABLE bad (a bigint, b bigint, CONSTRAINT bad FOREIGN KEY (a, b) REFERENCES message (account_id, id));
     COMMENT ON TABLE bad IS 'queue'`,
    'bad: the foreign key bad refers from a table of kind queue to message of kind facts',
  ],
];

test.each(VIOLATIONS)('%s is found, and nothing else', async (_, statements, sentence) => {
  await using database = await createTestDatabase({ empty: true });
  await database.pool.query(`${GOOD}; ${statements}`);
  const violations = await checkTableKinds(database.pool);
  expect(violations).toHaveLength(1);
  expect(violations[0]).toContain(sentence);
});
