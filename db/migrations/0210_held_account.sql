-- Whether an account is served in this database is a state of its row, which authentication reads anyway.
DROP TABLE account_change;
DROP FUNCTION note_change();
DROP TABLE account_parcel;
DROP TABLE account_move;
DROP FUNCTION refuse_away(bigint);

-- Null: it is served here. held: on its way to another cell; moved: that cell serves it.
ALTER TABLE account ADD COLUMN away text CONSTRAINT account_away_check CHECK (away IN ('held', 'moved'));
-- The other cell.
ALTER TABLE account ADD COLUMN cell smallint CONSTRAINT account_cell_check CHECK (cell BETWEEN 0 AND 8190);
-- How often it has moved: of two cells that know an account, the one with the higher number has the newer copy.
ALTER TABLE account ADD COLUMN moves integer DEFAULT 0 NOT NULL;
ALTER TABLE account ADD CONSTRAINT account_away_names_cell CHECK ((away IS NULL) = (cell IS NULL));
CREATE INDEX account_away ON account (id) WHERE away IS NOT NULL;

-- What waits for a held account: the rows of its queues, and its balance, without which nothing is accepted for it.
CREATE TABLE account_work (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  table_name text NOT NULL,
  -- A row of that table, as PostgreSQL writes it.
  content    text NOT NULL
);
CREATE INDEX account_work_account ON account_work (account_id, table_name, id);
COMMENT ON TABLE account_work IS 'queue';
GRANT SELECT ON account_work TO heliograph_tenant;
ALTER TABLE account_work ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_work
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Ends a statement for an account that is not served here, as when the database is not available.
CREATE FUNCTION refuse_away(account bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'account % is in another cell, or on its way', account USING ERRCODE = '57HM1';
END
$$;
