import { expect, test } from 'vitest';
import { listContractions } from './contractions.ts';

test.each([
  'DROP TABLE a',
  'DROP VIEW a',
  'DROP FUNCTION f(bigint)',
  'ALTER TABLE a DROP COLUMN b',
  'ALTER TABLE a DROP b',
  'ALTER TABLE a ADD COLUMN c int, DROP COLUMN b',
  'ALTER TABLE a RENAME TO b',
  'ALTER TABLE a RENAME COLUMN b TO c',
  'ALTER TABLE a ALTER COLUMN b SET NOT NULL',
  'ALTER TABLE a ALTER COLUMN b DROP DEFAULT',
  'ALTER TABLE a ALTER COLUMN b TYPE bigint',
  'ALTER TABLE a ALTER b SET DATA TYPE bigint',
  'ALTER TABLE a ADD COLUMN b int NOT NULL',
  'ALTER TABLE a ADD b int NOT NULL',
  'ALTER TABLE a ADD CONSTRAINT a_b_check CHECK (b > 0)',
  'ALTER TABLE ONLY a ADD UNIQUE (b)',
  'CREATE UNIQUE INDEX a_b ON a (b)',
  'REVOKE SELECT ON a FROM b',
  'TRUNCATE a',
  'create table z (); drop table a',
])('the previous release does not work with: %s', (statement) => {
  expect(listContractions(`-- why\n${statement};\n`)).toHaveLength(1);
});

test.each([
  'CREATE TABLE a (id bigint NOT NULL, UNIQUE (id))',
  'CREATE TABLE a (id bigint); ALTER TABLE a ADD CONSTRAINT a_check CHECK (id > 0); CREATE UNIQUE INDEX a_id ON a (id)',
  'ALTER TABLE a ADD COLUMN b int',
  'ALTER TABLE a ADD COLUMN b numeric(10, 2) NOT NULL DEFAULT 0',
  'ALTER TABLE a ADD COLUMN b int GENERATED ALWAYS AS (c + 1) STORED NOT NULL',
  'ALTER TABLE a DROP CONSTRAINT a_kind_check; ALTER TABLE a ADD CONSTRAINT a_kind_check CHECK (kind IN (1, 2))',
  'ALTER TABLE a DROP CONSTRAINT a_kind_check, ADD CONSTRAINT a_kind_check CHECK (kind IN (1, 2))',
  'ALTER TABLE a ALTER COLUMN b DROP NOT NULL',
  'CREATE INDEX a_b ON a (b)',
  'DROP INDEX a_b',
  'ALTER INDEX a_b RENAME TO a_c',
  'REVOKE EXECUTE ON FUNCTION f FROM PUBLIC',
  'ALTER TABLE a ENABLE ROW LEVEL SECURITY; CREATE POLICY tenant ON a USING (true); GRANT SELECT ON a TO b',
  "COMMENT ON TABLE a IS 'facts'",
  '-- DROP TABLE a\nSELECT 1',
])('the previous release works with: %s', (statement) => {
  expect(listContractions(`${statement};\n`)).toEqual([]);
});
