-- Which account the messages to a number belong to. Numbers are given per connection: carriers hand out short codes,
-- and the same one may be ours at one carrier and a stranger's at another.
CREATE TABLE inbound_number (
  connection_id bigint NOT NULL REFERENCES connection (id),
  -- As the carrier writes it, without a plus. '*' is every number of the connection that has no row of its own.
  number        text NOT NULL CHECK (number ~ '^([0-9]{1,20}|\*)$'),
  account_id    bigint NOT NULL REFERENCES account (id),
  created_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection_id, number)
);
COMMENT ON TABLE inbound_number IS 'reference';

-- Parts of long messages that wait for the others: no more than ten minutes, then what there is becomes the message.
CREATE TABLE inbound_part (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id bigint NOT NULL,
  source        text NOT NULL,
  destination   text NOT NULL,
  ref           integer NOT NULL,
  total         smallint NOT NULL,
  seq           smallint NOT NULL,
  -- UTF-16: a surrogate pair may be split between two parts, and half of one is no UTF-8.
  text_utf16    bytea NOT NULL,
  octets        bytea NOT NULL,
  received_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX inbound_part_set ON inbound_part (connection_id, source, destination, ref, total);
CREATE INDEX inbound_part_received ON inbound_part (received_at);
COMMENT ON TABLE inbound_part IS 'local';

-- What came in the last minutes: a carrier sends again what it believes to be unanswered.
CREATE TABLE inbound_seen (
  connection_id bigint NOT NULL,
  -- SHA-256 of the addresses, the place among the parts, and the octets.
  hash          bytea NOT NULL,
  received_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection_id, hash)
);
CREATE INDEX inbound_seen_received ON inbound_seen (received_at);
COMMENT ON TABLE inbound_seen IS 'local';

-- Messages that people sent to our numbers, put together.
CREATE TABLE inbound_message (
  -- 0: nobody has the number.
  account_id     bigint NOT NULL,
  id             uuid NOT NULL,
  connection_id  bigint NOT NULL,
  -- Both as the carrier wrote them, without a plus.
  source         text NOT NULL,
  destination    text NOT NULL,
  body           text NOT NULL,
  -- The user data as it came, headers and all; of a long message part after part.
  octets         bytea NOT NULL,
  parts          smallint NOT NULL,
  -- Fewer than parts: the others never came.
  parts_received smallint NOT NULL,
  -- When the first part came.
  received_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE inbound_message IS 'distributed';

-- To reconcile receipts by the hour of the submit. Rows come in that order, so a block range index is a few pages, costs
-- an insert next to nothing, and does not stand in the way of HOT updates.
CREATE INDEX message_state_submitted ON message_state USING brin (submitted_at);
