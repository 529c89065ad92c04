-- People who are signed in at the console. Looked up by the hash of their token with every request, before the account
-- is known, as API keys are.
CREATE TABLE user_session (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The person's own account, whichever one they look at.
  account_id        bigint NOT NULL REFERENCES account (id),
  user_id           bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  -- SHA-256 of 256 random bits, which need no slow hash. The token itself is in the browser alone.
  token_hash        bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  -- The account that an operator looks at; null: their own.
  acting_account_id bigint REFERENCES account (id),
  -- From where they signed in, and with what; for people.
  address           inet,
  user_agent        text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 200),
  created_at        timestamptz NOT NULL DEFAULT now(),
  -- Written in batches, at most once a minute: no request waits for it.
  last_seen_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX user_session_account ON user_session (account_id, id);
CREATE INDEX user_session_user ON user_session (user_id);
COMMENT ON TABLE user_session IS 'reference';

-- An operator of the gateway: may look at every account, and set what no account may set itself.
ALTER TABLE app_user ADD COLUMN is_operator boolean NOT NULL DEFAULT false;

-- Nobody becomes an operator, or looks at another account, by a statement that runs with the rights of an account: those
-- columns are not granted.
GRANT SELECT, DELETE, INSERT (account_id, user_id, token_hash, address, user_agent) ON user_session TO heliograph_tenant;
ALTER TABLE user_session ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON user_session USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

REVOKE INSERT, UPDATE ON app_user FROM heliograph_tenant;
GRANT INSERT (account_id, username, password_hash, role), UPDATE (password_hash, role) ON app_user TO heliograph_tenant;
