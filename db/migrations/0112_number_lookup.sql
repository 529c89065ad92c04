-- Services that know the networks of numbers.
CREATE TABLE lookup_service (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  settings   jsonb NOT NULL,
  -- The API key, sealed.
  secret     bytea NOT NULL,
  -- Raised with each change, so that processes open it anew.
  version    integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lookup_service IS 'shared';

-- What services have said about numbers, with its age.
CREATE TABLE number_network (
  number       text PRIMARY KEY,
  -- MCC and MNC; null: none is known.
  network      text,
  ported       boolean,
  looked_up_at timestamptz NOT NULL DEFAULT now(),
  valid_until  timestamptz NOT NULL
);
COMMENT ON TABLE number_network IS 'queue';
CREATE INDEX number_network_valid ON number_network (valid_until);

-- How many look-ups there were and what they cost.
CREATE TABLE lookup_day (
  service_id  bigint NOT NULL REFERENCES lookup_service (id) ON DELETE CASCADE,
  day         date NOT NULL,
  answered    bigint NOT NULL DEFAULT 0,
  failed      bigint NOT NULL DEFAULT 0,
  cost_micros bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (service_id, day)
);
COMMENT ON TABLE lookup_day IS 'queue';
