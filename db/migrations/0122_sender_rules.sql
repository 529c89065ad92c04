-- Which senders SMS may have in a country: the longest prefix decides. What is registered for its numbers always passes.
CREATE TABLE sender_rule (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  prefix          text NOT NULL UNIQUE CHECK (prefix ~ '^[0-9]{0,15}$'),
  -- What happens to senders with letters.
  alphanumeric    text NOT NULL CHECK (alphanumeric IN ('allowed', 'replaced', 'refused')),
  -- A sender, or pool:NAME; what takes the place of one that is replaced.
  replacement     text CHECK (replacement IS NOT NULL OR alphanumeric <> 'replaced'),
  -- Whether numbers too pass only if they are registered.
  registered_only boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE sender_rule IS 'shared';

-- The senders that were registered for the numbers with a prefix, for one account or for all.
CREATE TABLE registered_sender (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  prefix   text NOT NULL CHECK (prefix ~ '^[0-9]{0,15}$'),
  sender   text NOT NULL,
  owner_id bigint REFERENCES account (id),
  UNIQUE NULLS NOT DISTINCT (prefix, sender, owner_id)
);
COMMENT ON TABLE registered_sender IS 'shared';

-- Numbers of which each recipient gets messages from one: of an account, or of all (owner_id is null). Sent as pool:NAME.
CREATE TABLE number_pool (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name     text NOT NULL CHECK (name ~ '^[a-z0-9-]{1,20}$'),
  owner_id bigint REFERENCES account (id),
  -- Whether sticky_sender has rows for it, so that it need not be asked.
  sticky   boolean NOT NULL DEFAULT false,
  UNIQUE NULLS NOT DISTINCT (name, owner_id)
);
COMMENT ON TABLE number_pool IS 'shared';
CREATE TABLE number_pool_number (
  pool_id bigint NOT NULL REFERENCES number_pool (id) ON DELETE CASCADE,
  number  text NOT NULL CHECK (number ~ '^\+?[0-9]{3,16}$'),
  PRIMARY KEY (pool_id, number)
);
COMMENT ON TABLE number_pool_number IS 'shared';

-- Recipients who were written to before a number was added to the pool that would be theirs now: they keep the one they know.
CREATE TABLE sticky_sender (
  account_id  bigint NOT NULL,
  pool        text NOT NULL,
  destination text NOT NULL,
  sender      text NOT NULL,
  PRIMARY KEY (account_id, pool, destination)
);
COMMENT ON TABLE sticky_sender IS 'facts';
GRANT SELECT, INSERT, UPDATE, DELETE ON sticky_sender TO heliograph_tenant;
ALTER TABLE sticky_sender ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sticky_sender USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- The sender that was asked for, where a rule or a pool has put another one in its place.
ALTER TABLE message ADD COLUMN asked_sender text;
