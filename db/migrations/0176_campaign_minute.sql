-- What became of a campaign's messages, by the minute in which it became known, and why messages failed: added up in the
-- transactions that settle outcomes, so that the results of a million recipients are read from some thousand rows. What
-- becomes known more than an hour after the hour of the message counts in quarters of an hour. In several rows, as
-- traffic_hour, so that transactions do not wait for each other.
CREATE TABLE campaign_minute (
  account_id  bigint NOT NULL,
  campaign_id bigint NOT NULL,
  minute      timestamptz NOT NULL,
  -- The bit of the channel.
  channel     smallint NOT NULL,
  -- Of `failed`: the status of the specification; 0 for the rows that count the others.
  status      smallint NOT NULL,
  -- The code of the carrier or our own, cut to 40 characters; '' where there is none.
  code        text NOT NULL,
  shard       smallint NOT NULL,
  sent        bigint NOT NULL DEFAULT 0,
  delivered   bigint NOT NULL DEFAULT 0,
  failed      bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, campaign_id, minute, channel, status, code, shard)
) WITH (fillfactor = 50);
COMMENT ON TABLE campaign_minute IS 'facts';
GRANT SELECT, INSERT, UPDATE, DELETE ON campaign_minute TO heliograph_tenant;
ALTER TABLE campaign_minute ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON campaign_minute USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- The opt-outs of some days, which the results of a campaign count.
CREATE INDEX opt_out_age ON opt_out USING brin (created_at);
