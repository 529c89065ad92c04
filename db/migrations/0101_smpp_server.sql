-- What is known of messages that customers submitted by SMPP until their final state: which receipts were asked for, and
-- what these say of the submit.
CREATE TABLE smpp_receipt (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  -- Its binds get the receipts.
  credential_id bigint NOT NULL,
  -- The id in the answer to the submit; null: that of the message.
  shown_id      uuid,
  -- registered_delivery, as submitted.
  registered    smallint NOT NULL,
  -- user_message_reference, as submitted.
  reference     integer,
  source_ton    smallint NOT NULL,
  source_npi    smallint NOT NULL,
  source        text NOT NULL,
  dest_ton      smallint NOT NULL,
  dest_npi      smallint NOT NULL,
  destination   text NOT NULL,
  -- The beginning of the text.
  quote         text NOT NULL,
  PRIMARY KEY (account_id, message_id)
);
COMMENT ON TABLE smpp_receipt IS 'queue';
GRANT SELECT, INSERT, UPDATE, DELETE ON smpp_receipt TO heliograph_tenant;
ALTER TABLE smpp_receipt ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON smpp_receipt USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Receipts and inbound messages on their way to the receivers of customers: a row stays until its deliver_sm is answered.
CREATE TABLE smpp_outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL,
  -- Null for an inbound message: any credential of the account that takes them.
  credential_id bigint,
  -- The sent or the inbound message.
  message_id    uuid NOT NULL,
  -- The state that a receipt reports; null for an inbound message.
  status        smallint,
  at            timestamptz NOT NULL,
  -- The rest is null for an inbound message: as in smpp_receipt.
  shown_id      uuid,
  reference     integer,
  source_ton    smallint,
  source_npi    smallint,
  source        text,
  dest_ton      smallint,
  dest_npi      smallint,
  destination   text,
  quote         text,
  due_at        timestamptz NOT NULL DEFAULT now(),
  failures      smallint NOT NULL DEFAULT 0,
  -- The process that sends it (its advisory lock dies with its session), or null.
  owner         bigint
);
CREATE INDEX smpp_outbox_claim ON smpp_outbox (account_id, credential_id, due_at, id) WHERE owner IS NULL;
CREATE INDEX smpp_outbox_message ON smpp_outbox (message_id, id);
CREATE INDEX smpp_outbox_owner ON smpp_outbox (owner) WHERE owner IS NOT NULL;
COMMENT ON TABLE smpp_outbox IS 'queue';
GRANT SELECT, INSERT, UPDATE, DELETE ON smpp_outbox TO heliograph_tenant;
ALTER TABLE smpp_outbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON smpp_outbox USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- The open binds of customers, of all processes: what max_binds is compared with.
CREATE TABLE smpp_bind (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL,
  credential_id bigint NOT NULL,
  -- The process that has it (its advisory lock dies with its session).
  owner         bigint NOT NULL,
  mode          text NOT NULL CHECK (mode IN ('transmitter', 'receiver', 'transceiver')),
  address       text NOT NULL,
  bound_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX smpp_bind_credential ON smpp_bind (account_id, credential_id);
COMMENT ON TABLE smpp_bind IS 'queue';
GRANT SELECT ON smpp_bind TO heliograph_tenant;
ALTER TABLE smpp_bind ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON smpp_bind USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
