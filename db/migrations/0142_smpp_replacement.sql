-- The message that was sent in place of another one after a replace_sm: customers go on to name it by the id of the first.
CREATE TABLE smpp_replacement (
  account_id  bigint NOT NULL,
  -- The message that was answered to the submit.
  message_id  uuid NOT NULL,
  -- The latest one in its place.
  replaced_by uuid NOT NULL,
  PRIMARY KEY (account_id, message_id)
);
COMMENT ON TABLE smpp_replacement IS 'queue';
GRANT SELECT, INSERT, UPDATE, DELETE ON smpp_replacement TO heliograph_tenant;
ALTER TABLE smpp_replacement ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON smpp_replacement USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
