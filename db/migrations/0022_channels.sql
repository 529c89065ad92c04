-- RCS and WhatsApp beside SMS: connections of other kinds, messages with other content than text, and what is known of a
-- message beyond its delivery.

ALTER TABLE connection DROP CONSTRAINT connection_kind_check;
ALTER TABLE connection ADD CONSTRAINT connection_kind_check CHECK (kind IN ('smpp', 'whatsapp', 'rcs'));

-- What is sent in place of the text in `body` (src/carriers/content.ts); null for SMS.
ALTER TABLE message ADD COLUMN content jsonb;
-- The campaign that it belongs to; its recipient is the destination.
ALTER TABLE message ADD COLUMN campaign_id bigint;
-- Its price is part of what its campaign has reserved: given back by the campaign and not by the message.
ALTER TABLE message ADD COLUMN keeps_reserve boolean NOT NULL DEFAULT false;

-- Copied from the message, so that receipts are counted without reading it.
ALTER TABLE message_state ADD COLUMN campaign_id bigint;
-- Its bit: 1 SMS, 2 RCS, 4 WhatsApp (src/lib/channel.ts).
ALTER TABLE message_state ADD COLUMN channel smallint NOT NULL DEFAULT 1;
ALTER TABLE message_state ADD COLUMN read_at timestamptz;

-- Networks charge for RCS and WhatsApp messages that arrive.
UPDATE price SET refund_undelivered = true WHERE channel IN ('RCS', 'WHATSAPP') AND prefix = '';

-- What came of messages, by the hour in which they were accepted (that of their ids). Changed in the transactions that
-- move the messages. In several rows an hour, since those who settle and those who receive would wait for each other's
-- commits; 8 shards as with credit_frozen. Simulated messages are not counted.
CREATE TABLE traffic_hour (
  account_id  bigint NOT NULL,
  hour        timestamptz NOT NULL,
  -- 0: none.
  campaign_id bigint NOT NULL,
  -- Its bit.
  channel     smallint NOT NULL,
  shard       smallint NOT NULL,
  -- With an outcome: taken by a carrier, refused, or unknown.
  sent        bigint NOT NULL DEFAULT 0,
  delivered   bigint NOT NULL DEFAULT 0,
  read        bigint NOT NULL DEFAULT 0,
  -- Final and not delivered, those ended before they were sent included.
  failed      bigint NOT NULL DEFAULT 0,
  -- Of `failed`: ended before any carrier had them.
  unsent      bigint NOT NULL DEFAULT 0,
  -- What was earned.
  cost_micros bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, hour, campaign_id, channel, shard)
) WITH (fillfactor = 50);
CREATE INDEX traffic_hour_campaign ON traffic_hour (account_id, campaign_id, hour) WHERE campaign_id <> 0;
COMMENT ON TABLE traffic_hour IS 'distributed';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['traffic_hour']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
