-- Only accounts that have moved: all others belong to the cell in whose range their id is. `moves` is how often the account has
-- moved: a move that ends late does not undo a later one.
CREATE TABLE account_cell (
  account_id bigint PRIMARY KEY,
  cell       integer NOT NULL CHECK (cell BETWEEN 0 AND 8190),
  moves      integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE account_cell IS 'shared';
