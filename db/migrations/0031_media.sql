-- Files in the store (src/storage) that are to be deleted: those whose row is gone, and those whose row may never come,
-- since the process that was writing them died. A file is entered here before it is written, and taken out by the
-- transaction that commits its row.
CREATE TABLE file_removal (
  account_id bigint NOT NULL,
  key        text NOT NULL,
  due_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX file_removal_due ON file_removal (due_at);
COMMENT ON TABLE file_removal IS 'local';

-- Images and videos: those that people upload to send them, and those that came in with messages.
CREATE TABLE media (
  account_id       bigint NOT NULL,
  id               bigint GENERATED ALWAYS AS IDENTITY,
  -- Its name in links: random, so that one link says nothing of another.
  media_key        text NOT NULL,
  origin           text NOT NULL CHECK (origin IN ('UPLOAD', 'INBOUND')),
  name             text NOT NULL,
  description      text NOT NULL DEFAULT '',
  -- A number of the client's own, to sort by.
  folder_id        bigint,
  -- As told from the content.
  mime_type        text NOT NULL,
  size_bytes       bigint NOT NULL CHECK (size_bytes >= 0),
  width            integer,
  height           integer,
  duration_seconds double precision,
  -- Where the files lie in the store.
  file_key         text NOT NULL,
  thumbnail_key    text,
  thumbnail_bytes  bigint,
  -- Stands in each link: raising it ends the links that were given out.
  link_version     integer NOT NULL DEFAULT 1,
  created_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX media_by_key ON media (account_id, media_key);
-- The list, the newest first, which inbound files are not in.
CREATE INDEX media_uploads ON media (account_id, id DESC) WHERE origin = 'UPLOAD';
-- For the clean-up of old ones.
CREATE INDEX media_inbound ON media (created_at) WHERE origin = 'INBOUND';
COMMENT ON TABLE media IS 'distributed';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['file_removal', 'media']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
