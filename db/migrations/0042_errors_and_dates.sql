-- Why a worker last could not make or keep its links of a connection: kept over restarts of the worker and over what
-- follows, until the connection has all its links again. Written only while something is wrong.
CREATE TABLE connection_error (
  connection_id bigint NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
  -- Its advisory lock key; rows of dead workers go when another one writes, or has its links.
  worker        bigint NOT NULL,
  text          text NOT NULL,
  at            timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection_id, worker)
);
COMMENT ON TABLE connection_error IS 'local';

-- Contacts made in a span of time: without it each count read all of the account, 25 ms among 200,000, and a page by name
-- that found nobody 160 ms; with it 1 ms. Rows of one transaction share their time, which the index keeps once: a million
-- imported contacts are 8 MB of it, and an import writes a twentieth more WAL and takes no longer that could be measured.
CREATE INDEX contact_created ON contact (account_id, created_at);
