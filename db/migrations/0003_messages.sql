-- Messages are written once; what moves lives in the narrow message_state. A UUIDv7 id carries the time, so inserts
-- stay at the right edge of every index and the day partitions (src/db/partitions.ts) are ranges of the id itself.
CREATE TABLE message (
  account_id    bigint NOT NULL,
  id            uuid NOT NULL,
  -- The client's own reference (customerMessageId); its uniqueness lives in client_message_id.
  client_id     text,
  channel       text NOT NULL,
  source        text NOT NULL,
  simulation    boolean NOT NULL,
  -- Null when no carrier is meant to see it (simulation).
  connection_id bigint,
  sender        text NOT NULL,
  -- E.164 with the plus.
  destination   text NOT NULL,
  body          text NOT NULL,
  -- A binary message: user data header and octets, body empty.
  udh           bytea,
  binary_body   bytea,
  parts         smallint NOT NULL,
  want_receipt  boolean NOT NULL,
  valid_until   timestamptz,
  PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);
COMMENT ON TABLE message IS 'distributed';

-- One row once the outcome of a submit is known; before that a message is simply queued. Receipts update it, so no
-- column that they change is indexed: HOT updates ran at 140,000/s, with an index on status at 2,000/s.
CREATE TABLE message_state (
  account_id    bigint NOT NULL,
  id            uuid NOT NULL,
  -- Code of the specification's status table.
  status        smallint NOT NULL,
  -- Submit attempts whose outcome is recorded here; makes settling twice harmless.
  attempts      smallint NOT NULL,
  connection_id bigint,
  -- As the carrier spelled it. Null for several parts: those ids are in message_part.
  carrier_id    text,
  submitted_at  timestamptz,
  -- When the carrier says that the state was reached; set by receipts.
  done_at       timestamptz,
  updated_at    timestamptz NOT NULL,
  error_code    text,
  error_text    text,
  PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX message_state_carrier ON message_state (connection_id, carrier_id);
COMMENT ON TABLE message_state IS 'distributed';

-- Only for messages of several parts: each part has its own carrier id and its own receipt.
CREATE TABLE message_part (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  part          smallint NOT NULL,
  connection_id bigint NOT NULL,
  carrier_id    text NOT NULL,
  status        smallint NOT NULL,
  done_at       timestamptz,
  PRIMARY KEY (account_id, message_id, part)
) PARTITION BY RANGE (message_id);
CREATE INDEX message_part_carrier ON message_part (connection_id, carrier_id);
COMMENT ON TABLE message_part IS 'distributed';

-- The client's reference of a message: unique per account for 24 h, afterwards the newest use wins. Kept as long as
-- the message, since status look-ups by the client's id go through it.
CREATE TABLE client_message_id (
  account_id   bigint NOT NULL,
  client_id    text NOT NULL,
  message_id   uuid NOT NULL,
  -- SHA-256 of the content: the same id with the same content is a repeat, with other content a conflict.
  content_hash bytea NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (account_id, client_id)
);
COMMENT ON TABLE client_message_id IS 'distributed';

-- Messages whose submit was written and never answered. A row leaves when its outcome becomes known.
CREATE TABLE unknown_outcome (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  connection_id bigint NOT NULL,
  reason        text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, message_id)
);
COMMENT ON TABLE unknown_outcome IS 'distributed';

-- The final state that a simulated message will reach, and when: durable, so that a restart keeps it.
CREATE TABLE simulated_outcome (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  due_at     timestamptz NOT NULL,
  status     smallint NOT NULL,
  PRIMARY KEY (account_id, message_id)
);
CREATE INDEX simulated_outcome_due ON simulated_outcome (due_at);
COMMENT ON TABLE simulated_outcome IS 'distributed';
