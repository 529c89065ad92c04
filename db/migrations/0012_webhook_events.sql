-- What webhooks are still to be told, written in the transaction that makes it true: one row for up to 500 events of one
-- account and kind, and none for an account without a webhook. An event that is acknowledged at once leaves no other
-- trace here than its row in the log.
CREATE TABLE webhook_outbox (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id  bigint NOT NULL,
  -- The ids of the events are made of this and of their place in the row (src/webhooks/event-id.ts), so an event keeps
  -- its id however often it is sent.
  seed        uuid NOT NULL DEFAULT uuidv7(),
  kind        text NOT NULL CHECK (kind IN ('DELIVERY', 'READ', 'INBOUND')),
  -- Code of the specification's status table; null beside DELIVERY.
  status      smallint,
  message_ids uuid[] NOT NULL,
  -- When it happened, and what the carrier said of a failure: one for each message.
  at          timestamptz[] NOT NULL,
  errors      text[] NOT NULL
);
ALTER TABLE webhook_outbox ALTER COLUMN message_ids SET STORAGE EXTERNAL;
CREATE INDEX webhook_outbox_account ON webhook_outbox (account_id, id);
COMMENT ON TABLE webhook_outbox IS 'local';

-- Which worker tells the webhook of an account: all of its events go through one process, which keeps them in order and
-- bounds what is under way. The claim of a worker whose advisory lock is gone is free.
CREATE TABLE webhook_claim (
  account_id bigint PRIMARY KEY,
  owner      bigint NOT NULL
);
COMMENT ON TABLE webhook_claim IS 'local';

-- Events that go out later: they failed, were asked for again, or wait behind an earlier event of their message.
CREATE TABLE webhook_retry (
  account_id bigint NOT NULL,
  -- The event.
  id         uuid NOT NULL,
  message_id uuid NOT NULL,
  -- The order among the events of one message.
  seq        bigint NOT NULL DEFAULT nextval('webhook_outbox_id_seq'),
  -- Null: when the one before it has come to its end.
  due_at     timestamptz,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX webhook_retry_due ON webhook_retry (account_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_retry_message ON webhook_retry (account_id, message_id, seq);
COMMENT ON TABLE webhook_retry IS 'local';

-- The log: one row for each event once it has been tried, or waits for one that was. What its body is made of stands
-- here and in the message, so that a repetition says the same.
CREATE TABLE webhook_delivery (
  account_id      bigint NOT NULL,
  id              uuid NOT NULL,
  message_id      uuid NOT NULL,
  kind            text NOT NULL,
  status          smallint,
  at              timestamptz NOT NULL,
  error           text,
  state           text NOT NULL CHECK (state IN ('PENDING', 'DELIVERED', 'DEAD')),
  -- Since it was new or was last asked for again.
  attempts        smallint NOT NULL,
  -- Of the last attempt.
  response_code   smallint,
  duration_ms     integer,
  failure         text,
  next_attempt_at timestamptz,
  updated_at      timestamptz NOT NULL DEFAULT now(),
  -- The attempts that failed: [{ at, code, reason, ms }].
  failures        jsonb NOT NULL DEFAULT '[]',
  PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX webhook_delivery_message ON webhook_delivery (account_id, message_id);
CREATE INDEX webhook_delivery_open ON webhook_delivery (account_id, state, id) WHERE state <> 'DELIVERED';
COMMENT ON TABLE webhook_delivery IS 'distributed';

-- An account that asks for an event again gives it a new place in the order.
GRANT USAGE ON SEQUENCE webhook_outbox_id_seq TO heliograph_tenant;
