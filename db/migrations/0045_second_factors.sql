-- Second factors of users, and what a sign-in with them needs while it is in progress.

-- A secret for one-time codes (RFC 6238): one for each user.
CREATE TABLE totp_factor (
  user_id        bigint PRIMARY KEY REFERENCES app_user (id) ON DELETE CASCADE,
  account_id     bigint NOT NULL REFERENCES account (id),
  -- Sealed. Null until a first code has confirmed the pending one.
  secret         bytea,
  -- Sealed: a secret that replaces the other when a code of it arrives.
  pending_secret bytea,
  confirmed_at   timestamptz,
  -- The time step of the last code that counted: no code of this step or an earlier one counts again.
  last_step      bigint NOT NULL DEFAULT 0,
  -- Wrong codes since the last right one. Beyond a few, each makes the user wait longer: a code has only six digits.
  wrong_codes    integer NOT NULL DEFAULT 0,
  wrong_at       timestamptz
);
CREATE INDEX totp_factor_account ON totp_factor (account_id);
COMMENT ON TABLE totp_factor IS 'reference';

-- Passkeys (WebAuthn). They are found by their id before the account is known, as API keys are.
CREATE TABLE passkey (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL REFERENCES account (id),
  user_id       bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  credential_id bytea NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1023),
  -- In COSE form.
  public_key    bytea NOT NULL,
  -- The authenticator's counter; many keep it at 0.
  sign_count    bigint NOT NULL,
  transports    text[] NOT NULL DEFAULT '{}',
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL DEFAULT now(),
  last_used_at  timestamptz
);
CREATE INDEX passkey_user ON passkey (user_id);
CREATE INDEX passkey_account ON passkey (account_id);
COMMENT ON TABLE passkey IS 'reference';

-- SHA-256 of 80 random bits, which need no slow hash. A code that was used is deleted.
CREATE TABLE recovery_code (
  user_id    bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  code_hash  bytea NOT NULL CHECK (length(code_hash) = 32),
  account_id bigint NOT NULL REFERENCES account (id),
  PRIMARY KEY (user_id, code_hash)
);
CREATE INDEX recovery_code_account ON recovery_code (account_id);
COMMENT ON TABLE recovery_code IS 'reference';

-- Sign-ins whose password was right and whose second factor is awaited. The token is in the browser alone.
CREATE TABLE pending_sign_in (
  token_hash  bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id  bigint NOT NULL REFERENCES account (id),
  user_id     bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  wrong_codes integer NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX pending_sign_in_user ON pending_sign_in (user_id);
CREATE INDEX pending_sign_in_created ON pending_sign_in (created_at);
CREATE INDEX pending_sign_in_account ON pending_sign_in (account_id);
COMMENT ON TABLE pending_sign_in IS 'reference';

-- Challenges that a passkey is to sign: each counts once, for a few minutes, and for one purpose.
CREATE TABLE passkey_challenge (
  challenge  bytea PRIMARY KEY CHECK (length(challenge) = 32),
  purpose    text NOT NULL CHECK (purpose IN ('register', 'sign-in', 'second-step', 'step-up')),
  -- Null for a sign-in without a password, where nobody is known yet.
  user_id    bigint REFERENCES app_user (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX passkey_challenge_created ON passkey_challenge (created_at);
CREATE INDEX passkey_challenge_user ON passkey_challenge (user_id);
COMMENT ON TABLE passkey_challenge IS 'local';

-- How the user signed in, and when the session last proved that its user is there.
ALTER TABLE user_session
  ADD COLUMN method text NOT NULL DEFAULT 'password'
    CHECK (method IN ('password', 'totp', 'recovery-code', 'passkey', 'single-sign-on')),
  ADD COLUMN proven_at timestamptz NOT NULL DEFAULT now();

-- Whether the users of an account need a second factor.
ALTER TABLE account ADD COLUMN second_factor text NOT NULL DEFAULT 'optional'
  CHECK (second_factor IN ('optional', 'required'));

GRANT SELECT, INSERT, UPDATE, DELETE ON totp_factor, passkey, recovery_code, pending_sign_in TO heliograph_tenant;
ALTER TABLE totp_factor ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON totp_factor USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
ALTER TABLE passkey ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON passkey USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
ALTER TABLE recovery_code ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON recovery_code USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
ALTER TABLE pending_sign_in ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON pending_sign_in
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
GRANT INSERT (method), UPDATE (proven_at) ON user_session TO heliograph_tenant;
GRANT UPDATE (second_factor) ON account TO heliograph_tenant;
