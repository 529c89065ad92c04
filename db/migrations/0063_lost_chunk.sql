-- Messages that were in the queue and were not found when their turn came: they are not sent, and a person should know.
-- A row holds what the chunk said about them.
CREATE TABLE lost_chunk (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL,
  connection_id bigint NOT NULL,
  campaign_id   bigint,
  priority      smallint NOT NULL,
  attempt       smallint NOT NULL,
  available_at  timestamptz NOT NULL,
  ids           uuid[] NOT NULL,
  lost_at       timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lost_chunk IS 'local';

GRANT SELECT, INSERT, UPDATE, DELETE ON lost_chunk TO heliograph_tenant;
ALTER TABLE lost_chunk ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON lost_chunk
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
