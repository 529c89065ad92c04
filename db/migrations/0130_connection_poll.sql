-- From where events are fetched next, of carriers that are asked for them.
CREATE TABLE connection_poll (
  connection_id bigint PRIMARY KEY REFERENCES connection (id) ON DELETE CASCADE,
  -- Null until the first answer is stored.
  cursor text,
  -- While a worker fetches: when another one may take over.
  due_at timestamptz NOT NULL
);
COMMENT ON TABLE connection_poll IS 'queue';
