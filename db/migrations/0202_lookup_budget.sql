-- How many paid look-ups of networks were wanted in a day: by an account, and with account_id 0 by the whole installation.
CREATE TABLE lookup_budget (
  account_id bigint NOT NULL,
  day        date NOT NULL,
  asked      bigint NOT NULL,
  -- How many of them could be had, by what applied when the last was wanted; null: all.
  allowed    bigint,
  PRIMARY KEY (account_id, day)
);
COMMENT ON TABLE lookup_budget IS 'queue';
GRANT SELECT ON lookup_budget TO heliograph_tenant;
ALTER TABLE lookup_budget ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON lookup_budget USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
