-- Each table says in its comment how Citus spreads it: 'reference' (small, on every node), 'distributed' (by
-- account_id, which then leads the primary key and every unique index) or 'local' (on the coordinator only).
-- src/db/citus-rules.test.ts holds every later migration to it.

CREATE TABLE account (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  status     text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  plan       text NOT NULL DEFAULT 'production' CHECK (plan IN ('production', 'trial', 'unlimited')),
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE account IS 'reference';

-- Looked up by username before the account is known, so the username is unique across accounts.
CREATE TABLE app_user (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL REFERENCES account (id),
  username      text NOT NULL UNIQUE CHECK (length(username) BETWEEN 1 AND 200),
  password_hash text NOT NULL,
  role          text NOT NULL DEFAULT 'owner' CHECK (role IN ('owner', 'admin', 'operator', 'viewer')),
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX app_user_account ON app_user (account_id, id);
COMMENT ON TABLE app_user IS 'reference';

CREATE TABLE api_key (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id   bigint NOT NULL REFERENCES account (id),
  -- Who made it; null when the operator did.
  user_id      bigint REFERENCES app_user (id),
  name         text NOT NULL DEFAULT '',
  description  text NOT NULL DEFAULT '',
  operations   text[] NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  -- Written in batches, at most once a minute: no request waits for it.
  last_used_at timestamptz
);
CREATE INDEX api_key_account ON api_key (account_id, id);
COMMENT ON TABLE api_key IS 'reference';

-- The values of a key: the current one (expires_at is null) and, after a rotation, the earlier ones until their grace
-- ends. The key keeps its id, so deleting it revokes them all. The value itself is never stored: key_hash is its
-- SHA-256, and 256 random bits need no slow hash.
CREATE TABLE api_key_value (
  key_hash   bytea PRIMARY KEY CHECK (length(key_hash) = 32),
  api_key_id bigint NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
  prefix     text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX api_key_value_key ON api_key_value (api_key_id);
CREATE UNIQUE INDEX api_key_value_current ON api_key_value (api_key_id) WHERE expires_at IS NULL;
COMMENT ON TABLE api_key_value IS 'reference';
