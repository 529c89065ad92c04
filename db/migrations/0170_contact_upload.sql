-- Files of contacts that were received once, until they are imported: they are previewed, checked and imported from here.
CREATE TABLE contact_upload (
  account_id bigint NOT NULL REFERENCES account (id),
  id         bigint GENERATED ALWAYS AS IDENTITY,
  file_name  text NOT NULL,
  size_bytes bigint NOT NULL,
  format     text NOT NULL CHECK (format IN ('csv', 'xlsx', 'vcard')),
  -- As detected in the whole file; null for XLSX.
  encoding   text,
  -- How much of the file the check or import in progress has read, from 0 to 1; null: none is in progress.
  progress   real,
  -- Whether it was imported: the content is gone then, and the row goes with the old ones.
  taken      boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX contact_upload_age ON contact_upload (created_at);
COMMENT ON TABLE contact_upload IS 'queue';

-- The content: pieces of 1 MiB, compressed with zstd.
CREATE TABLE contact_upload_part (
  account_id bigint NOT NULL,
  upload_id  bigint NOT NULL,
  n          integer NOT NULL,
  octets     bytea NOT NULL,
  PRIMARY KEY (account_id, upload_id, n),
  FOREIGN KEY (account_id, upload_id) REFERENCES contact_upload (account_id, id) ON DELETE CASCADE
);
ALTER TABLE contact_upload_part ALTER COLUMN octets SET STORAGE EXTERNAL;
COMMENT ON TABLE contact_upload_part IS 'queue';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['contact_upload', 'contact_upload_part']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;

-- The faults of the rows by cause, with what would cure them, and the values that were changed to bring rows in:
-- { groups, changes } (src/engagement/contacts/imports/cleaning/report.ts).
ALTER TABLE contact_import ADD COLUMN cleaning jsonb NOT NULL DEFAULT '{"groups": [], "changes": []}';
