-- Routes of one priority that have a weight share the traffic in proportion to it. Programs of the last release go by age.
ALTER TABLE route ADD COLUMN weight smallint CHECK (weight BETWEEN 1 AND 1000);

-- Routes that are used only for some of the messages to a prefix. They are not in `route`, because programs of the last
-- release would use them for all, and because one connection may stand under several conditions. Ids are those of one
-- sequence for both tables, so that an id names one route.
CREATE TABLE conditional_route (
  id            bigint PRIMARY KEY,
  channel       text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  prefix        text NOT NULL DEFAULT '' CHECK (prefix ~ '^[0-9]{0,15}$'),
  connection_id bigint NOT NULL REFERENCES connection (id),
  priority      integer NOT NULL DEFAULT 100,
  on_unknown    text NOT NULL DEFAULT 'hold' CHECK (on_unknown IN ('hold', 'resubmit')),
  weight        smallint CHECK (weight BETWEEN 1 AND 1000),
  -- Each condition that is not null must be met.
  -- MCC and MNC, such as 22201.
  network       text CHECK (network ~ '^[0-9]{5,6}$'),
  -- The account that sends. No reference: a cell that awaits an account is given its routes first.
  owner_id      bigint,
  sender        text CHECK (length(sender) BETWEEN 1 AND 20),
  -- From, to, time zone and days of the week (src/network/routing/conditions/hours.ts).
  hours         jsonb,
  created_at    timestamptz NOT NULL DEFAULT now(),
  CHECK (num_nonnulls(network, owner_id, sender, hours) > 0),
  UNIQUE NULLS NOT DISTINCT (channel, prefix, connection_id, network, owner_id, sender, hours)
);
COMMENT ON TABLE conditional_route IS 'shared';
CREATE INDEX conditional_route_connection ON conditional_route (connection_id);

-- Why a message went to its connection, where that does not follow from its prefix alone.
ALTER TABLE message ADD COLUMN route_reason text;

-- Goals are calculated behind row-level security: an account sees which prefixes have a route that may be its own.
GRANT SELECT (channel, prefix, owner_id) ON conditional_route TO heliograph_tenant;
ALTER TABLE conditional_route ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conditional_route
  USING (owner_id IS NULL OR owner_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
