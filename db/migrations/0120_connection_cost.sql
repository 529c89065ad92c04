-- What carriers charge: per part on SMS, per message elsewhere, in millionths of the currency of the gateway. A cost for a
-- network goes before one without; then the longest prefix wins. '' fits every number.
CREATE TABLE connection_cost (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id bigint NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
  prefix        text NOT NULL DEFAULT '' CHECK (prefix ~ '^[0-9]{0,15}$'),
  -- MCC and MNC, such as 22201; null: any network.
  network       text CHECK (network ~ '^[0-9]{5,6}$'),
  unit_micros   bigint NOT NULL CHECK (unit_micros >= 0),
  UNIQUE NULLS NOT DISTINCT (connection_id, prefix, network)
);
COMMENT ON TABLE connection_cost IS 'shared';
