-- What becomes of a single send that was written to a carrier and never answered: 'hold' keeps it for a receipt or a
-- person, 'resubmit' sends it once more and says so. Everything else is always held.
ALTER TABLE route ADD COLUMN on_unknown text NOT NULL DEFAULT 'hold' CHECK (on_unknown IN ('hold', 'resubmit'));
ALTER TABLE dispatch_chunk ADD COLUMN on_unknown text NOT NULL DEFAULT 'hold' CHECK (on_unknown IN ('hold', 'resubmit'));
-- A client asked for the time of available_at, and no worker has seen that time come yet.
ALTER TABLE dispatch_chunk ADD COLUMN scheduled boolean NOT NULL DEFAULT false;
-- Messages that were taken back while they waited: whoever moves the intent past them does not write them.
ALTER TABLE dispatch_chunk ADD COLUMN withdrawn uuid[];

-- It was sent again after an unknown outcome: the handset may have it twice.
ALTER TABLE message_state ADD COLUMN possible_duplicate boolean NOT NULL DEFAULT false;

-- By whom a receipt with an id that we never saw can be meant: the number and the sender are all that it says.
ALTER TABLE unknown_outcome
  ADD COLUMN destination text NOT NULL DEFAULT '',
  ADD COLUMN sender      text NOT NULL DEFAULT '',
  ADD COLUMN parts       smallint NOT NULL DEFAULT 1,
  ADD COLUMN valid_until timestamptz NOT NULL DEFAULT now();
CREATE INDEX unknown_outcome_destination ON unknown_outcome (connection_id, destination);

-- Submits that the carrier may have under an id that we never learned, and that wait for nothing any more: sent again,
-- expired, settled by a person, or accepted without an id. A late receipt may be theirs, so while one of them fits, no
-- other message is given it.
CREATE TABLE nameless_submit (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  connection_id bigint NOT NULL,
  destination   text NOT NULL,
  sender        text NOT NULL,
  valid_until   timestamptz NOT NULL,
  PRIMARY KEY (account_id, message_id)
);
CREATE INDEX nameless_submit_destination ON nameless_submit (connection_id, destination);
COMMENT ON TABLE nameless_submit IS 'distributed';

-- When messages that were not sent under the usual validity are given up, up to 1,000 of them a row.
CREATE TABLE message_deadline (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  due_at     timestamptz NOT NULL,
  ids        uuid[] NOT NULL
);
ALTER TABLE message_deadline ALTER COLUMN ids SET STORAGE EXTERNAL;
CREATE INDEX message_deadline_due ON message_deadline (due_at);
COMMENT ON TABLE message_deadline IS 'local';

-- Messages of the usual validity need no row: those accepted before done_to have been looked through.
CREATE TABLE expiry_progress (
  done_to timestamptz NOT NULL
);
COMMENT ON TABLE expiry_progress IS 'local';
INSERT INTO expiry_progress VALUES (now());

-- To look through the messages of some seconds: ids come in the order of time, so a block range index is a few pages and
-- costs an insert next to nothing.
CREATE INDEX message_state_id ON message_state USING brin (id);
