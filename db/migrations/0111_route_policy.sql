-- How routes of a prefix are ordered where it is not only by their priority. The longest prefix decides.
CREATE TABLE route_policy (
  id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel             text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  prefix              text NOT NULL DEFAULT '' CHECK (prefix ~ '^[0-9]{0,15}$'),
  policy              text NOT NULL CHECK (policy IN ('priority', 'least-cost')),
  -- The floor of quality: the least share of messages that is delivered, in thousandths, and the most seconds that receipts
  -- take on average; null: any.
  min_delivered       smallint NOT NULL CHECK (min_delivered BETWEEN 0 AND 1000),
  max_receipt_seconds integer CHECK (max_receipt_seconds > 0),
  -- Fewer samples say nothing.
  min_samples         integer NOT NULL CHECK (min_samples > 0),
  -- The share of messages that goes to connections below the floor or without enough samples, in thousandths.
  explore             smallint NOT NULL CHECK (explore BETWEEN 0 AND 500),
  -- How far back samples count.
  hours               smallint NOT NULL CHECK (hours BETWEEN 1 AND 48),
  UNIQUE (channel, prefix)
);
COMMENT ON TABLE route_policy IS 'shared';

-- Messages that a carrier has answered, a few of each connection and country in every ten seconds. They are judged by their
-- states minutes later.
CREATE TABLE quality_sample (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  connection_id bigint NOT NULL,
  -- The calling code.
  country       text NOT NULL,
  answered_at   timestamptz NOT NULL,
  PRIMARY KEY (account_id, message_id, connection_id)
);
COMMENT ON TABLE quality_sample IS 'queue';
CREATE INDEX quality_sample_answered ON quality_sample (answered_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON quality_sample TO heliograph_tenant;
ALTER TABLE quality_sample ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON quality_sample USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- What became of the samples, by ten minutes.
CREATE TABLE connection_quality (
  connection_id bigint NOT NULL,
  country       text NOT NULL,
  slot          timestamptz NOT NULL,
  messages      bigint NOT NULL,
  delivered     bigint NOT NULL,
  -- Of those delivered: how long it took from the answer of the carrier to the receipt, added up.
  receipt_ms    bigint NOT NULL,
  PRIMARY KEY (connection_id, country, slot)
);
COMMENT ON TABLE connection_quality IS 'queue';
CREATE INDEX connection_quality_slot ON connection_quality (slot);

-- Where a connection stands by a policy in a country. Kept, because it takes more to change than to stay.
CREATE TABLE route_standing (
  policy_id     bigint NOT NULL REFERENCES route_policy (id) ON DELETE CASCADE,
  connection_id bigint NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
  country       text NOT NULL,
  standing      text NOT NULL CHECK (standing IN ('good', 'trial', 'below')),
  messages      bigint NOT NULL,
  delivered     bigint NOT NULL,
  receipt_ms    bigint NOT NULL,
  since         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (policy_id, connection_id, country)
);
COMMENT ON TABLE route_standing IS 'queue';
