-- Profiles at social networks; the channels of an account's plan; what retention looks for.

-- Bits: 1 SMS, 2 RCS, 4 WhatsApp. Read with the credentials of each request.
ALTER TABLE account ADD COLUMN channels smallint NOT NULL DEFAULT 7 CHECK (channels BETWEEN 0 AND 7);

-- What an account is connected to: one profile of each network.
CREATE TABLE social_profile (
  account_id       bigint NOT NULL,
  platform         text NOT NULL CHECK (platform IN ('facebook', 'instagram', 'linkedin', 'google', 'tiktok')),
  -- As the network knows it.
  external_id      text NOT NULL,
  username         text,
  profile_name     text NOT NULL,
  picture_url      text,
  scopes           text[] NOT NULL,
  -- Pages, organisations and locations that come with it: [{ id, name, type }].
  linked           jsonb NOT NULL,
  -- Sealed JSON { access, refresh, linked: { id: token } } (src/lib/secret-box.ts).
  tokens           bytea NOT NULL,
  -- Null: it does not end by time.
  token_expires_at timestamptz,
  -- When to ask for a new token, or when the one that cannot be renewed is over. Null: never.
  refresh_at       timestamptz,
  -- Raised by each new connection and each new token: who wants to write an answer of the network checks it.
  version          bigint NOT NULL DEFAULT 1,
  -- Refreshes in a row that did not come through.
  failures         smallint NOT NULL DEFAULT 0,
  -- Why it is disconnected; null while it is connected.
  disconnected     text,
  connected_by     bigint,
  connected_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, platform)
);
CREATE INDEX social_profile_refresh ON social_profile (refresh_at) WHERE refresh_at IS NOT NULL;
COMMENT ON TABLE social_profile IS 'distributed';

-- Connections under way: what a network sends back with its answer, for ten minutes and for one use.
CREATE TABLE social_state (
  -- SHA-256 of the state: who reads the table cannot use what is in it.
  hash         bytea PRIMARY KEY,
  account_id   bigint NOT NULL,
  platform     text NOT NULL,
  -- Who began it: { kind, keyId, userId, username }.
  author       jsonb NOT NULL,
  -- SHA-256 of the cookie that the browser has to bring; null when a key began it, which has no browser.
  browser_hash bytea,
  -- Sealed; null where the network has no PKCE.
  verifier     bytea,
  expires_at   timestamptz NOT NULL
);
CREATE INDEX social_state_expires ON social_state (expires_at);
COMMENT ON TABLE social_state IS 'local';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['social_profile', 'social_state']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;

-- Rows of these come in the order of time, so that a block range index of a few pages finds the old ones.
CREATE INDEX client_message_id_age ON client_message_id USING brin (created_at);
CREATE INDEX inbound_message_age ON inbound_message USING brin (received_at);
CREATE INDEX inbox_message_age ON inbox_message USING brin (at);
