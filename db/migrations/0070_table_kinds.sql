-- The comment of a table says what becomes of its rows when an account moves to another database:
--   'facts'   the rows of an account, which move with it; account_id leads the primary key;
--   'queue'   work in progress, which is drained and never copied;
--   'shared'  what all accounts use, or what is copied row by row.
-- Until now they were called 'distributed', 'local' and 'reference'.
DO $$
DECLARE
  own record;
BEGIN
  FOR own IN
    SELECT c.oid::regclass AS name, obj_description(c.oid, 'pg_class') AS kind
      FROM pg_class c
     WHERE c.relnamespace = current_schema::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  LOOP
    EXECUTE format('COMMENT ON TABLE %s IS %L', own.name, CASE own.kind
      WHEN 'distributed' THEN 'facts' WHEN 'local' THEN 'queue' WHEN 'reference' THEN 'shared' ELSE own.kind END);
  END LOOP;
END $$;

-- The value of a key names its account, so that its policy needs no second table.
ALTER TABLE api_key_value ADD COLUMN account_id bigint REFERENCES account (id);
UPDATE api_key_value v SET account_id = k.account_id FROM api_key k WHERE k.id = v.api_key_id;
ALTER TABLE api_key_value ALTER COLUMN account_id SET NOT NULL;
DROP POLICY tenant ON api_key_value;
CREATE POLICY tenant ON api_key_value USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- One row, by its key.
ALTER TABLE expiry_progress ADD COLUMN only_row boolean NOT NULL DEFAULT true CHECK (only_row);
ALTER TABLE expiry_progress ADD PRIMARY KEY (only_row);
