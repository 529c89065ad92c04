-- The queue: one row for up to 1,000 messages of one account, connection and priority. Claiming whole chunks ran at
-- 160,000-270,000 messages/s and stays flat under a long transaction; a row a message fell from 49,000 to 11,000.
CREATE TABLE dispatch_chunk (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id    bigint NOT NULL,
  connection_id bigint NOT NULL,
  -- 0 single sends, 1 bulk, 2 campaigns: lower goes first.
  priority      smallint NOT NULL,
  -- Fair turns: an account's chunks carry growing rounds, and the lowest round is claimed first.
  round         bigint NOT NULL,
  available_at  timestamptz NOT NULL DEFAULT now(),
  -- How often these messages were already tried.
  attempt       smallint NOT NULL DEFAULT 0,
  -- The worker that holds it (its advisory lock dies with its session), or null.
  owner         bigint,
  -- ids[1..intent] may have been written to the carrier: committed before the first byte of them.
  intent        integer NOT NULL DEFAULT 0,
  -- cardinality(ids), so that a claim need not read the array.
  size          integer NOT NULL,
  ids           uuid[] NOT NULL
);
-- Out of line and uncompressed: ids hardly compress, and trying costs CPU on every chunk.
ALTER TABLE dispatch_chunk ALTER COLUMN ids SET STORAGE EXTERNAL;
CREATE INDEX dispatch_chunk_claim ON dispatch_chunk (connection_id, priority, round, id) WHERE owner IS NULL;
CREATE INDEX dispatch_chunk_rounds ON dispatch_chunk (connection_id, priority, account_id, round);
CREATE INDEX dispatch_chunk_owner ON dispatch_chunk (owner) WHERE owner IS NOT NULL;
COMMENT ON TABLE dispatch_chunk IS 'local';

-- The receipt inbox: one row for each batch that was committed before its deliver_sm were answered.
CREATE TABLE receipt_batch (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id bigint NOT NULL,
  receipts      json NOT NULL,
  received_at   timestamptz NOT NULL DEFAULT now()
);
-- Uncompressed: a batch lives for milliseconds, and compressing it took longer than writing it.
ALTER TABLE receipt_batch ALTER COLUMN receipts SET STORAGE EXTERNAL;
COMMENT ON TABLE receipt_batch IS 'local';

-- Receipts that fit no message yet (they may come before the answer to the submit), or that fit two.
CREATE TABLE receipt_unmatched (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id bigint NOT NULL,
  receipt       json NOT NULL,
  reason        text NOT NULL CHECK (reason IN ('unknown', 'ambiguous')),
  received_at   timestamptz NOT NULL,
  tries         integer NOT NULL DEFAULT 1,
  next_try_at   timestamptz NOT NULL
);
CREATE INDEX receipt_unmatched_due ON receipt_unmatched (next_try_at);
COMMENT ON TABLE receipt_unmatched IS 'local';

-- What each worker last saw of each connection; rows of dead workers are swept.
CREATE TABLE connection_status (
  connection_id bigint NOT NULL,
  worker        bigint NOT NULL,
  up            boolean NOT NULL,
  binds_up      integer NOT NULL,
  binds_wanted  integer NOT NULL,
  fault         text,
  updated_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection_id, worker)
);
COMMENT ON TABLE connection_status IS 'local';
