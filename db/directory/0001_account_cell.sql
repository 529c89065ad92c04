-- Only accounts that have moved, or are moving: all others belong to the cell in whose range their id is.
CREATE TABLE account_cell (
  account_id   bigint PRIMARY KEY,
  cell         integer NOT NULL CHECK (cell BETWEEN 0 AND 8190),
  moving_since timestamptz
);
COMMENT ON TABLE account_cell IS 'shared';
