-- What messages earned and what carriers charged for them on the day on which they were accepted. Changed in the
-- transactions that settle outcomes, for connections whose costs are known. In several rows a day, as traffic_hour.
CREATE TABLE margin_day (
  account_id    bigint NOT NULL,
  -- Its first instant, in UTC.
  day           timestamptz NOT NULL,
  connection_id bigint NOT NULL,
  -- The calling code of the recipient's country; '' if none is known.
  country       text NOT NULL,
  shard         smallint NOT NULL,
  -- Messages that the carrier took, or may have taken, and what it counts them as: parts on SMS.
  messages      bigint NOT NULL,
  units         bigint NOT NULL,
  -- Of `messages`: those whose cost was not known.
  uncosted      bigint NOT NULL,
  earned_micros bigint NOT NULL,
  cost_micros   bigint NOT NULL,
  PRIMARY KEY (account_id, day, connection_id, country, shard)
) WITH (fillfactor = 50);
COMMENT ON TABLE margin_day IS 'facts';
CREATE INDEX margin_day_day ON margin_day (day);
GRANT SELECT, INSERT, UPDATE, DELETE ON margin_day TO heliograph_tenant;
ALTER TABLE margin_day ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON margin_day USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
