-- What the account's callers may do, where the query that authenticates a request reads it anyway: a change holds with
-- the next request, on every process.
ALTER TABLE account
  -- Requests a minute of each key; null: what the plan gives; 0: no limit.
  ADD COLUMN rate_per_minute integer CHECK (rate_per_minute >= 0),
  -- Of those, how many in one second; null: what goes with the rate.
  ADD COLUMN rate_per_second integer CHECK (rate_per_second > 0),
  ADD COLUMN ip_allow_list cidr[] NOT NULL DEFAULT '{}',
  ADD COLUMN ip_allow_list_enforced boolean NOT NULL DEFAULT false;
GRANT UPDATE (ip_allow_list, ip_allow_list_enforced) ON account TO heliograph_tenant;

-- From where a person has come in with the right password: guesses from elsewhere cannot lock them out there.
CREATE TABLE login_network (
  user_id bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  -- An IPv4 address or an IPv6 /64.
  network cidr NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, network)
);
COMMENT ON TABLE login_network IS 'reference';
