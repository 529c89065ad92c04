import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { dumpSchema } from './schema-dump.ts';

const database = await createTestDatabase({ empty: true });
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

await pool.query(`
  CREATE TYPE mood AS ENUM ('b', 'a');
  CREATE SEQUENCE counter;
  CREATE TABLE parent (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE CHECK (name <> ''));
  CREATE TABLE child (
    parent_id bigint NOT NULL REFERENCES parent (id) ON DELETE CASCADE,
    day       date NOT NULL,
    mood      mood DEFAULT 'a',
    twice     int GENERATED ALWAYS AS (1 + 1) STORED,
    PRIMARY KEY (parent_id, day)
  ) PARTITION BY RANGE (day);
  CREATE TABLE child_2026 PARTITION OF child FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
  CREATE INDEX child_mood ON child (mood) WHERE mood IS NOT NULL;
  CREATE TABLE narrow (ids uuid[]) WITH (fillfactor = 50);
  ALTER TABLE narrow ALTER COLUMN ids SET STORAGE EXTERNAL;
  COMMENT ON TABLE child IS 'facts';
  COMMENT ON COLUMN child.day IS 'it''s a day';
  ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
  CREATE POLICY own ON parent USING (id > 0);
  CREATE VIEW names AS SELECT name FROM parent;
  CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1';
  CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
  CREATE TRIGGER stamped BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION stamp();
`);

const without = (text: string): string => text.replace(/^--.*\n/gm, '').trimStart();

test('the dump shows everything that a migration can make', async () => {
  expect(without(await dumpSchema(pool))).toBe(`CREATE TYPE mood AS ENUM ('b', 'a');

CREATE SEQUENCE counter AS bigint START 1 INCREMENT 1;

CREATE TABLE child (
  parent_id bigint NOT NULL,
  day date NOT NULL,
  mood mood DEFAULT 'a'::mood,
  twice integer GENERATED ALWAYS AS ((1 + 1)) STORED,
  CONSTRAINT child_pkey PRIMARY KEY (parent_id, day),
  CONSTRAINT child_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES parent(id) ON DELETE CASCADE
) PARTITION BY RANGE (day);
CREATE INDEX child_mood ON ONLY child USING btree (mood) WHERE (mood IS NOT NULL);
COMMENT ON TABLE child IS 'facts';
COMMENT ON COLUMN child.day IS 'it''s a day';

CREATE TABLE narrow (
  ids uuid[]
) WITH (fillfactor=50);
ALTER TABLE narrow ALTER COLUMN ids SET STORAGE EXTERNAL;

CREATE TABLE parent (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  CONSTRAINT parent_pkey PRIMARY KEY (id),
  CONSTRAINT parent_name_key UNIQUE (name),
  CONSTRAINT parent_name_check CHECK ((name <> ''::text))
);
CREATE TRIGGER stamped BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION stamp();
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON parent AS PERMISSIVE FOR ALL TO public USING ((id > 0));

CREATE VIEW names AS
 SELECT name
   FROM parent;

CREATE OR REPLACE FUNCTION one()
 RETURNS integer
 LANGUAGE sql
AS $function$SELECT 1$function$;

CREATE OR REPLACE FUNCTION stamp()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$BEGIN RETURN new; END$function$;
`);
});

test('a new partition changes nothing, a new column does', async () => {
  const before = await dumpSchema(pool);
  await pool.query(`CREATE TABLE child_2027 PARTITION OF child FOR VALUES FROM ('2027-01-01') TO ('2028-01-01')`);
  expect(await dumpSchema(pool)).toBe(before);
  await pool.query('ALTER TABLE narrow ADD COLUMN more int');
  expect(await dumpSchema(pool)).not.toBe(before);
});
