-- What operators look at: what each connection does, and which workers there are.

-- What carriers answered, by connection and minute. Each worker adds its figures every ten seconds, so that no message
-- costs a statement for it. Forgotten after two days.
CREATE TABLE connection_minute (
  connection_id bigint NOT NULL,
  minute        timestamptz NOT NULL,
  accepted      bigint NOT NULL DEFAULT 0,
  refused       bigint NOT NULL DEFAULT 0,
  -- "Later", once for each time.
  retried       bigint NOT NULL DEFAULT 0,
  unknown       bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (connection_id, minute)
);
COMMENT ON TABLE connection_minute IS 'local';

-- Of the last ten seconds, as this worker saw them.
ALTER TABLE connection_status ADD COLUMN in_flight integer NOT NULL DEFAULT 0;
-- Messages that the carrier took.
ALTER TABLE connection_status ADD COLUMN per_second real NOT NULL DEFAULT 0;
-- What it last answered to a message that it did not take. Numbers are masked.
ALTER TABLE connection_status ADD COLUMN last_error text;
ALTER TABLE connection_status ADD COLUMN last_error_at timestamptz;

-- The processes that work behind the interface. One lives while it holds the advisory lock of its owner.
CREATE TABLE worker_process (
  owner      bigint PRIMARY KEY,
  host       text NOT NULL,
  pid        integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at    timestamptz NOT NULL DEFAULT now(),
  -- Its tasks: [{"name", "ranAt", "error"}], the error of the last run or null.
  tasks      jsonb NOT NULL DEFAULT '[]'
);
COMMENT ON TABLE worker_process IS 'local';
