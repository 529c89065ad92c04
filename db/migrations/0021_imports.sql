-- Files of contacts that are brought in. A file is read and checked while its request is open; what then waits here is
-- its rows, in chunks, so that any worker on any machine can do them.
CREATE TABLE contact_import (
  account_id   bigint NOT NULL,
  id           bigint GENERATED ALWAYS AS IDENTITY,
  status       text NOT NULL CHECK (status IN ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED')),
  file_name    text NOT NULL,
  dry_run      boolean NOT NULL,
  list_id      bigint,
  -- Who asked for it, as the audit log keeps people.
  author       jsonb NOT NULL,
  -- The columns of the file in their order: [{ name, field, fieldId }], where field is null for one that is passed over.
  columns      jsonb NOT NULL,
  -- The first rows as the file has them.
  preview      jsonb NOT NULL,
  -- Rows of the file; those below say what became of them, and end up as many.
  total        bigint NOT NULL,
  created      bigint NOT NULL DEFAULT 0,
  updated      bigint NOT NULL DEFAULT 0,
  skipped      bigint NOT NULL DEFAULT 0,
  errors       bigint NOT NULL DEFAULT 0,
  -- Why it failed; for people.
  failure      text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE contact_import IS 'distributed';

-- Up to 2,000 rows, checked and compressed (src/contacts/imports/rows.ts). Deleted in the transaction that writes them.
CREATE TABLE contact_import_chunk (
  account_id bigint NOT NULL,
  import_id  bigint NOT NULL,
  n          integer NOT NULL,
  rows       bytea NOT NULL,
  PRIMARY KEY (account_id, import_id, n)
);
ALTER TABLE contact_import_chunk ALTER COLUMN rows SET STORAGE EXTERNAL;
COMMENT ON TABLE contact_import_chunk IS 'distributed';

-- Rows that were not brought in: the first 10,000 of an import.
CREATE TABLE contact_import_reject (
  account_id bigint NOT NULL,
  import_id  bigint NOT NULL,
  -- Of the file, from 1.
  line       integer NOT NULL,
  -- [{ field, message }].
  faults     jsonb NOT NULL,
  cells      jsonb NOT NULL,
  PRIMARY KEY (account_id, import_id, line)
);
COMMENT ON TABLE contact_import_reject IS 'distributed';

-- The imports that workers have to do. A worker holds the row while it does one chunk, and so gives it back when it dies.
CREATE TABLE contact_import_job (
  import_id  bigint PRIMARY KEY,
  account_id bigint NOT NULL,
  -- Imports take turns, chunk by chunk; after a failure this lies in the future.
  due_at     timestamptz NOT NULL DEFAULT now(),
  -- In a row.
  failures   smallint NOT NULL DEFAULT 0
);
COMMENT ON TABLE contact_import_job IS 'local';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['contact_import', 'contact_import_chunk', 'contact_import_reject', 'contact_import_job']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
