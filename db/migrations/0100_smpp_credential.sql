-- Credentials with which customers bind to this gateway by SMPP. Looked up by system_id before the account is known, so
-- that is unique across accounts.
CREATE TABLE smpp_credential (
  account_id        bigint NOT NULL REFERENCES account (id),
  id                bigint GENERATED ALWAYS AS IDENTITY,
  name              text NOT NULL DEFAULT '',
  -- The field of a bind takes 15 characters.
  system_id         text NOT NULL UNIQUE CHECK (length(system_id) BETWEEN 1 AND 15),
  -- argon2id: the eight characters that a bind takes are too few for a fast hash.
  password_hash     text NOT NULL,
  max_binds         integer NOT NULL CHECK (max_binds BETWEEN 1 AND 100),
  -- Unanswered requests of one bind, in each direction.
  window_size       integer NOT NULL CHECK (window_size BETWEEN 1 AND 1000),
  -- Messages a second of all binds; null: as many as an API key of the account may send requests.
  tps               integer CHECK (tps BETWEEN 1 AND 100000),
  -- Empty: every address that the account allows.
  allowed_addresses cidr[] NOT NULL DEFAULT '{}',
  -- Empty: every sender.
  allowed_senders   text[] NOT NULL DEFAULT '{}',
  -- What data_coding 0 means.
  alphabet          text NOT NULL DEFAULT 'gsm' CHECK (alphabet IN ('gsm', 'latin1', 'ascii', 'utf8')),
  -- How message ids are written.
  message_ids       text NOT NULL DEFAULT 'uuid' CHECK (message_ids IN ('uuid', 'hex', 'decimal')),
  -- Whether its receivers get the inbound messages of the account.
  inbound           boolean NOT NULL DEFAULT true,
  created_at        timestamptz NOT NULL DEFAULT now(),
  last_bound_at     timestamptz,
  -- From where it last bound: guesses from elsewhere cannot lock it out there.
  last_network      cidr,
  PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE smpp_credential IS 'shared';
GRANT SELECT, INSERT, UPDATE, DELETE ON smpp_credential TO heliograph_tenant;
ALTER TABLE smpp_credential ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON smpp_credential USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
