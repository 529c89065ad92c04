-- What requests with an Idempotency-Key were answered, for 24 hours. A row is written in the transaction of the work
-- that it answers for, so that the primary key decides between two requests, and a crash leaves both or neither.
CREATE TABLE idempotency_key (
  account_id   bigint NOT NULL,
  key          text NOT NULL,
  -- SHA-256 of method, URL and body: the same key for another request is a conflict.
  request_hash bytea NOT NULL,
  -- Status, headers and body, sealed with SECRET_KEY: an answer may hold a fresh API key, or numbers of people.
  answer       bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);
COMMENT ON TABLE idempotency_key IS 'distributed';
