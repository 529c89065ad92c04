-- The keys of the rows of an account that change while it is copied to another cell, without account_id. Triggers that exist
-- only then write one row for each change, and two when the key changes.
CREATE TABLE account_change (
  account_id bigint NOT NULL,
  -- Which run of the command notes it: how the names of its triggers begin.
  run        text NOT NULL,
  table_name text NOT NULL,
  key        text[] NOT NULL
);
CREATE INDEX account_change_run ON account_change (account_id, run, table_name);
COMMENT ON TABLE account_change IS 'queue';
-- What the second wall lets a tenant change is noted as well.
GRANT SELECT, INSERT ON account_change TO heliograph_tenant;
ALTER TABLE account_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_change
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Arguments of its triggers: which version of the row to note (new or old), the run, the name of the table, and the columns of
-- its key, separated by commas. Keys of the message engine and of tables with large rows are named here: a note takes 10 µs
-- then, and otherwise 30, or more, because the whole row becomes JSON.
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  noted   text[];
BEGIN
  IF TG_ARGV[0] = 'new' THEN changed := NEW; ELSE changed := OLD; END IF;
  CASE TG_ARGV[3]
    WHEN 'id' THEN noted := ARRAY[changed.id::text];
    WHEN 'message_id,id' THEN noted := ARRAY[changed.message_id::text, changed.id::text];
    WHEN 'message_id,part' THEN noted := ARRAY[changed.message_id::text, changed.part::text];
    WHEN 'client_id' THEN noted := ARRAY[changed.client_id];
    WHEN 'global_id' THEN noted := ARRAY[changed.global_id];
    WHEN 'key' THEN noted := ARRAY[changed.key];
    ELSE
      noted := ARRAY(SELECT to_jsonb(changed) ->> name FROM unnest(string_to_array(TG_ARGV[3], ',')) AS name);
  END CASE;
  INSERT INTO account_change (account_id, run, table_name, key)
  VALUES (changed.account_id, TG_ARGV[1], TG_ARGV[2], noted);
  RETURN NULL;
END
$$;
