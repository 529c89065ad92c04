-- Where the events of an account go. One an account: a later registration takes the row over, with a new id and a new
-- secret, so that what was meant for the earlier one can be told apart.
CREATE TABLE webhook_endpoint (
  account_id            bigint PRIMARY KEY,
  id                    bigint GENERATED ALWAYS AS IDENTITY,
  -- As the client wrote it, checked by src/webhooks/check-url.ts.
  url                   text NOT NULL CHECK (length(url) <= 2048),
  -- Of the payload: 'A' has eventType and statusCode, 'B' a status in words and no READ or INBOUND.
  form                  text NOT NULL CHECK (form IN ('A', 'B')),
  method                text NOT NULL DEFAULT 'POST' CHECK (method = 'POST'),
  -- Sealed for this row (src/lib/secret-box.ts).
  secret                bytea NOT NULL,
  -- After a rotation both sign until the time is over.
  previous_secret       bytea,
  previous_secret_until timestamptz,
  status                text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  -- For the owner, in words; null while active.
  disabled_reason       text,
  -- The first failure since the last success.
  failing_since         timestamptz,
  created_at            timestamptz NOT NULL DEFAULT now(),
  updated_at            timestamptz NOT NULL DEFAULT now(),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL)),
  CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL))
);
COMMENT ON TABLE webhook_endpoint IS 'reference';
