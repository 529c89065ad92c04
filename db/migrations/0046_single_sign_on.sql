-- Single sign-on (OpenID Connect), forgotten passwords, invitations, and the mails that these send.

-- The provider of an account. Read before the account is known: a person begins with its short name or a mail domain.
CREATE TABLE single_sign_on (
  account_id        bigint PRIMARY KEY REFERENCES account (id),
  -- What people enter on the sign-in page.
  short_name        text NOT NULL UNIQUE CHECK (short_name ~ '^[a-z0-9][a-z0-9-]{1,39}$'),
  enabled           boolean NOT NULL DEFAULT false,
  issuer            text NOT NULL CHECK (length(issuer) <= 500),
  client_id         text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 500),
  -- Sealed; null: a public client.
  client_secret     bytea,
  scopes            text[] NOT NULL,
  -- The claim with the groups; null: the groups do not matter.
  groups_claim      text,
  -- [{"group", "role"}]; the first that fits counts.
  group_roles       jsonb NOT NULL DEFAULT '[]',
  -- The role of people in none of these groups; null: they are refused.
  default_role      text CHECK (default_role IN ('viewer', 'sender', 'manager', 'admin')),
  -- Whether passwords of the account's users no longer sign in, but for this user and operators of the gateway.
  required          boolean NOT NULL DEFAULT false,
  emergency_user_id bigint REFERENCES app_user (id) ON DELETE SET NULL,
  -- Increases with each change, so that a trial of earlier settings does not count.
  version           integer NOT NULL DEFAULT 1,
  -- The result of the last trial: {"at", "version", "problem", "email", "groups", "role"}.
  last_trial        jsonb,
  CHECK (NOT required OR enabled)
);
COMMENT ON TABLE single_sign_on IS 'reference';
GRANT SELECT, INSERT, UPDATE, DELETE ON single_sign_on TO heliograph_tenant;
ALTER TABLE single_sign_on ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON single_sign_on USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- The mail domains whose people may sign in; each leads to one account.
CREATE TABLE single_sign_on_domain (
  domain     text PRIMARY KEY CHECK (length(domain) <= 253),
  account_id bigint NOT NULL REFERENCES single_sign_on (account_id) ON DELETE CASCADE
);
CREATE INDEX single_sign_on_domain_account ON single_sign_on_domain (account_id);
COMMENT ON TABLE single_sign_on_domain IS 'reference';
GRANT SELECT, INSERT, DELETE ON single_sign_on_domain TO heliograph_tenant;
ALTER TABLE single_sign_on_domain ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON single_sign_on_domain USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Which user a person of a provider is.
CREATE TABLE single_sign_on_user (
  account_id bigint NOT NULL REFERENCES account (id),
  issuer     text NOT NULL,
  subject    text NOT NULL CHECK (length(subject) <= 255),
  user_id    bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  PRIMARY KEY (account_id, issuer, subject),
  UNIQUE (account_id, issuer, user_id)
);
CREATE INDEX single_sign_on_user_user ON single_sign_on_user (user_id);
COMMENT ON TABLE single_sign_on_user IS 'reference';
GRANT SELECT, INSERT ON single_sign_on_user TO heliograph_tenant;
ALTER TABLE single_sign_on_user ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON single_sign_on_user USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Sign-ins that were begun: for ten minutes and one use, in the browser that began.
CREATE TABLE single_sign_on_state (
  -- SHA-256 of the state in the URL.
  hash         bytea PRIMARY KEY CHECK (length(hash) = 32),
  account_id   bigint NOT NULL REFERENCES account (id),
  -- SHA-256 of the secret in the browser's cookie.
  browser_hash bytea NOT NULL CHECK (length(browser_hash) = 32),
  -- Sealed: the nonce and the verifier.
  secrets      bytea NOT NULL,
  -- The page of the console to continue with.
  next         text NOT NULL DEFAULT '/' CHECK (next ~ '^/' AND length(next) <= 2000),
  -- A trial signs nobody in; only its result is stored.
  is_trial     boolean NOT NULL,
  -- Of the settings when it began.
  version      integer NOT NULL,
  expires_at   timestamptz NOT NULL
);
CREATE INDEX single_sign_on_state_expiry ON single_sign_on_state (expires_at);
COMMENT ON TABLE single_sign_on_state IS 'local';
GRANT SELECT, INSERT ON single_sign_on_state TO heliograph_tenant;
ALTER TABLE single_sign_on_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON single_sign_on_state USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Requests for a new password, as strangers make them. Whether there is such a user is found out later, by a task, so
-- that the answer takes the same time.
CREATE TABLE password_reset_request (
  username     text PRIMARY KEY CHECK (length(username) <= 200),
  language     text NOT NULL CHECK (language IN ('en', 'it')),
  requested_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE password_reset_request IS 'local';

-- Links with which a user may choose a new password, once.
CREATE TABLE password_reset (
  -- SHA-256 of the token in the link.
  hash       bytea PRIMARY KEY CHECK (length(hash) = 32),
  account_id bigint NOT NULL REFERENCES account (id),
  user_id    bigint NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_reset_user ON password_reset (user_id, created_at);
COMMENT ON TABLE password_reset IS 'reference';
GRANT SELECT, DELETE ON password_reset TO heliograph_tenant;
ALTER TABLE password_reset ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON password_reset USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- People who were invited to an account and have not accepted yet.
CREATE TABLE invitation (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES account (id),
  -- Becomes the username.
  email      text NOT NULL CHECK (length(email) <= 200),
  role       text NOT NULL CHECK (role IN ('viewer', 'sender', 'manager', 'admin')),
  -- SHA-256 of the token in the link; a new one with each mail.
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  -- Null: an operator of the gateway. The invitations of a removed user end.
  invited_by bigint REFERENCES app_user (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  sent_at    timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  UNIQUE (account_id, email)
);
CREATE INDEX invitation_invited_by ON invitation (invited_by);
COMMENT ON TABLE invitation IS 'reference';
GRANT SELECT, INSERT, UPDATE, DELETE ON invitation TO heliograph_tenant;
ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON invitation USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Mails that wait to be handed to the mail server.
CREATE TABLE outgoing_mail (
  id         uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  -- Recipient, subject and text, sealed: a text may contain a link that is a credential.
  sealed     bytea NOT NULL,
  due_at     timestamptz NOT NULL DEFAULT now(),
  attempts   integer NOT NULL DEFAULT 0,
  -- When its link ends, and with it the use of the mail.
  expires_at timestamptz NOT NULL
);
CREATE INDEX outgoing_mail_due ON outgoing_mail (due_at);
COMMENT ON TABLE outgoing_mail IS 'local';
GRANT SELECT, INSERT ON outgoing_mail TO heliograph_tenant;
ALTER TABLE outgoing_mail ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON outgoing_mail USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
