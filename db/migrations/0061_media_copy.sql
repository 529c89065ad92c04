-- The copies of an account's files at networks that take uploads: a file is uploaded once for each sender, and sent by its
-- id until the network deletes it.
CREATE TABLE media_copy (
  account_id bigint NOT NULL,
  media_id   bigint NOT NULL,
  -- The sender of the messages: a network accepts the copy only from it.
  sender     text NOT NULL,
  network_id text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, media_id, sender),
  FOREIGN KEY (account_id, media_id) REFERENCES media ON DELETE CASCADE
);
ALTER TABLE media_copy ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON media_copy USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
GRANT SELECT ON media_copy TO heliograph_tenant;
COMMENT ON TABLE media_copy IS 'distributed';
