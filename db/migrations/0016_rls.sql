-- The second wall between accounts. A statement that runs as heliograph_tenant (src/db/tenant.ts) sees and writes rows
-- of the account in app.account_id, and none at all without one, whatever its WHERE says.
--
-- The role itself is made at every start (src/db/tenant-role.ts). It is no owner, so FORCE is not needed; without it
-- the owner, as which workers and the batches of many accounts run, passes by the policies. Partitions get no grants:
-- they are reached through their table, where the policy stands.
--
-- A later migration with a table that has account_id adds for it what this loop does: src/db/rls-rules.test.ts says so.

GRANT USAGE ON SCHEMA public TO heliograph_tenant;

DO $$
DECLARE
  t regclass;
BEGIN
  FOR t IN
    SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.relname
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
    -- After SET LOCAL has ended the setting is '', not NULL.
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %s USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;

GRANT SELECT ON account TO heliograph_tenant;
ALTER TABLE account ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account USING (id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Through its key, of which the policy above shows only the account's own.
GRANT SELECT, INSERT, UPDATE, DELETE ON api_key_value TO heliograph_tenant;
ALTER TABLE api_key_value ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_key_value USING (EXISTS (SELECT FROM api_key k WHERE k.id = api_key_id));

-- Whose name a message's timeline shows. Settings and the sealed secret stay hidden.
GRANT SELECT (id, name) ON connection TO heliograph_tenant;

-- Of the account itself its owner may set who is let in.
GRANT UPDATE (ip_allow_list, ip_allow_list_enforced) ON account TO heliograph_tenant;

-- Events that are asked for again take their place behind all others.
GRANT USAGE ON SEQUENCE webhook_outbox_id_seq TO heliograph_tenant;

-- Books and logs are added to and never changed.
REVOKE UPDATE, DELETE ON ledger_entry, audit_entry FROM heliograph_tenant;
