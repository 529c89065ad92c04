-- Tells the database that was worked on last from a restored backup or a copy of it: fence.json in the DATA_DIR of each
-- machine has to agree with its row here (src/fence, docs/decisions/0008-restore-fence.md).
CREATE TABLE fence (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- new: nobody has worked on it. paused: nothing is sent until a person decides. confirmed: a person has, and no
  -- worker has come since.
  state      text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'open', 'paused', 'confirmed')),
  -- Why it is paused, or was last.
  reason     text,
  since      timestamptz NOT NULL DEFAULT now(),
  decided_by text
);
COMMENT ON TABLE fence IS 'local';
INSERT INTO fence DEFAULT VALUES;

CREATE TABLE fence_machine (
  machine    uuid PRIMARY KEY,
  -- Raised every ten seconds while a worker runs there, and when it ends: here first, then in the file.
  generation bigint NOT NULL,
  -- The worker that raised it: its advisory lock.
  owner      bigint NOT NULL,
  seen_at    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE fence_machine IS 'local';
