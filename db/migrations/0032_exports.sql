-- Files of messages and contacts that people ask for. A worker writes them; they can be fetched for a day.
CREATE TABLE export (
  account_id   bigint NOT NULL,
  id           bigint GENERATED ALWAYS AS IDENTITY,
  type         text NOT NULL CHECK (type IN ('HISTORY', 'CONTACTS', 'DELIVERY_REPORTS')),
  format       text NOT NULL CHECK (format IN ('csv', 'csv.gz', 'xlsx')),
  -- One that expires_at has passed is expired, whether a worker has said so here yet or not.
  status       text NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'EXPIRED', 'FAILED')),
  -- What was asked for, as src/exports/filters.ts reads it: made again, it is the same.
  filters      jsonb NOT NULL,
  -- Raised each time that it is made: it stands in the links, so that those to an earlier file are dead.
  version      integer NOT NULL DEFAULT 1,
  -- Written so far. While it is made: of as many as were counted at its beginning.
  rows         bigint NOT NULL DEFAULT 0,
  expected_rows bigint,
  size_bytes   bigint,
  -- Where the file lies in the store, while there is one.
  file_key     text,
  -- Why it failed; for people.
  failure      text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  expires_at   timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK (status <> 'COMPLETED' OR (file_key IS NOT NULL AND size_bytes IS NOT NULL AND expires_at IS NOT NULL))
);
-- For the clean-up.
CREATE INDEX export_expires ON export (expires_at) WHERE status = 'COMPLETED';
COMMENT ON TABLE export IS 'distributed';

-- The exports that workers have to make. One that makes it says so by its advisory lock key, which dies with it
-- (src/db/worker-session.ts): making a file takes minutes, for which no transaction may stay open.
CREATE TABLE export_job (
  export_id  bigint PRIMARY KEY,
  account_id bigint NOT NULL,
  owner      bigint,
  -- After a failure this lies in the future.
  due_at     timestamptz NOT NULL DEFAULT now(),
  -- In a row.
  failures   smallint NOT NULL DEFAULT 0
);
COMMENT ON TABLE export_job IS 'local';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['export', 'export_job']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
