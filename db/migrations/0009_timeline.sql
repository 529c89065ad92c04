-- Who asked for a message and when it was meant to go: told by its timeline. A key or a person, so one of the two.
ALTER TABLE message ADD COLUMN api_key_id bigint;
ALTER TABLE message ADD COLUMN user_id bigint;
ALTER TABLE message ADD COLUMN scheduled_at timestamptz;

-- The words of the receipt that set the final state. In the row that this receipt updates anyway: with a third of each
-- page filled (src/db/partitions.ts) that cost 0.3-1.3 us and 110 octets of WAL a message, a row of its own 4 us and 375.
ALTER TABLE message_state ADD COLUMN receipt_text text;
ALTER TABLE message_part ADD COLUMN receipt_text text;

-- What happened to a message that its rows cannot hold: outcomes that a later attempt replaced, receipts beyond the one
-- that counted, and what people did. Append-only; a message that goes the usual way has none.
CREATE TABLE message_event (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  -- In the order of writing, also inside a transaction, where now() stands still.
  id            uuid NOT NULL DEFAULT uuidv7(),
  at            timestamptz NOT NULL DEFAULT now(),
  kind          text NOT NULL,
  connection_id bigint,
  -- Word for word, whoever said it.
  text          text,
  details       json NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, message_id, id)
) PARTITION BY RANGE (message_id);
COMMENT ON TABLE message_event IS 'distributed';

-- What a bulk request with a globalId was answered, to be answered again for 24 hours.
CREATE TABLE bulk_request (
  account_id bigint NOT NULL,
  global_id  text NOT NULL,
  -- SHA-256: the same globalId with another body is a conflict.
  body_hash  bytea NOT NULL,
  -- [our id or null, statusCode] of each destination, in order. Null only until its transaction ends.
  results    json,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, global_id)
);
CREATE INDEX bulk_request_created ON bulk_request (created_at);
COMMENT ON TABLE bulk_request IS 'distributed';
