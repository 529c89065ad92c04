-- Days of traffic_hour (0022), so that a year of stats is read from some hundred rows. Rows of traffic_hour with a shard
-- of 0 or more are what writers write; those of past hours are folded (src/traffic/folding): merged into one row of
-- shard -1 and added to their day, in one statement. So the sum over all shards of an hour is exact at any time, and so
-- is that of a day's row here and the rows of its hours that are not folded yet.
CREATE TABLE traffic_day (
  account_id  bigint NOT NULL,
  -- UTC.
  day         date NOT NULL,
  -- 0: none.
  campaign_id bigint NOT NULL,
  -- Its bit.
  channel     smallint NOT NULL,
  -- As in traffic_hour.
  sent        bigint NOT NULL,
  delivered   bigint NOT NULL,
  read        bigint NOT NULL,
  failed      bigint NOT NULL,
  unsent      bigint NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (account_id, day, campaign_id, channel)
);
COMMENT ON TABLE traffic_day IS 'distributed';

-- Writers change neither of its columns nor its condition, so their updates stay HOT.
CREATE INDEX traffic_hour_open ON traffic_hour (account_id, hour) WHERE shard >= 0;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['traffic_day']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
