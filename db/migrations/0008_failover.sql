-- The other connections that the routes name for these messages, best first: where they go when the one that they wait
-- at is dead or refuses them for a reason of its own.
ALTER TABLE dispatch_chunk ADD COLUMN alternates bigint[] NOT NULL DEFAULT '{}';
-- How often the connection answered "later" of these messages themselves. Counts anew at another connection.
ALTER TABLE dispatch_chunk ADD COLUMN tries smallint NOT NULL DEFAULT 0;

-- Connections that no worker has a bind of, and since when. Written only while there are any.
CREATE TABLE connection_down (
  connection_id bigint PRIMARY KEY REFERENCES connection (id) ON DELETE CASCADE,
  since         timestamptz NOT NULL DEFAULT now(),
  -- Last looked at. When nobody has looked for a while, no worker ran, and that is not the carrier's fault.
  seen_at       timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE connection_down IS 'local';
