-- A connection is the operator's: one bind (or HTTP client) to one carrier, shared by the accounts.
CREATE TABLE connection (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  kind       text NOT NULL CHECK (kind IN ('smpp')),
  status     text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
  sandbox    boolean NOT NULL DEFAULT false,
  -- Everything but the secret, as the kind's settings schema says.
  settings   jsonb NOT NULL,
  -- AES-256-GCM, bound to this row (src/lib/secret-box.ts).
  secret     bytea NOT NULL,
  -- Raised by every change; a running worker rebuilds the carrier when it differs.
  version    bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE connection IS 'reference';

-- The longest prefix wins, then the lowest priority number. '' fits every number.
CREATE TABLE route (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel       text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  prefix        text NOT NULL DEFAULT '' CHECK (prefix ~ '^[0-9]{0,15}$'),
  connection_id bigint NOT NULL REFERENCES connection (id),
  priority      integer NOT NULL DEFAULT 100,
  created_at    timestamptz NOT NULL DEFAULT now(),
  UNIQUE (channel, prefix, connection_id)
);
COMMENT ON TABLE route IS 'reference';
