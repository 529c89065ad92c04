import { type Db, many, sql } from './query.ts';
import { TENANT_ROLE } from './tenant-role.ts';

/**
 * Holds the schema to the second wall between accounts (docs/decisions/0010-two-walls.md). Returns one sentence for each
 * violation, none when the schema keeps the rules:
 *
 * - a table with account_id has row-level security, a policy for all commands that compares account_id with
 *   app.account_id, no other policy (they would be joined by OR), and may be read by the tenant role;
 * - of a table without policies the tenant role may read single columns that were granted by name, and nothing else;
 * - partitions, which have no policies of their own, are out of its reach.
 */
export async function checkRlsRules(db: Db): Promise<string[]> {
  const tables = await many<TableRules>(db, RULES);
  return tables.flatMap((table) => violation(table) ?? []);
}

type TableRules = {
  name: string;
  partition: boolean;
  has_account: boolean;
  secured: boolean;
  /** As PostgreSQL writes them, those for all commands. */
  policies: string[];
  other_policies: number;
  reads: boolean;
  writes: boolean;
};

/** What PostgreSQL makes of the comparison in 0016_rls.sql. */
const OWN_ACCOUNT = "(account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)";

const RULES = sql`
  SELECT c.relname AS name, c.relispartition AS partition, c.relrowsecurity AS secured,
         EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'account_id' AND NOT attisdropped)
           AS has_account,
         ARRAY (SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
                 WHERE polrelid = c.oid AND polcmd = '*' AND polpermissive AND polwithcheck IS NULL) AS policies,
         (SELECT count(*) FROM pg_policy
           WHERE polrelid = c.oid AND polpermissive AND (polcmd <> '*' OR polwithcheck IS NOT NULL)) AS other_policies,
         has_table_privilege(${TENANT_ROLE}, c.oid, 'SELECT') AS reads,
         has_table_privilege(${TENANT_ROLE}, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') AS writes
    FROM pg_class c
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   ORDER BY 1`;

function violation({ name, partition, ...table }: TableRules): string | undefined {
  if (partition)
    return table.reads || table.writes ? `${name}: a partition is reached through its table only` : undefined;
  if (table.has_account) return accountViolation(name, table);
  if (!table.reads && !table.writes) return undefined;
  return table.secured && table.policies.length === 1
    ? undefined
    : `${name}: has no policy, so ${TENANT_ROLE} may only read columns of it that are granted by name`;
}

function accountViolation(name: string, table: Omit<TableRules, 'name' | 'partition'>): string | undefined {
  const own = table.policies.length === 1 && table.policies[0] === OWN_ACCOUNT && table.other_policies === 0;
  if (table.secured && own && table.reads) return undefined;
  return `${name}: has account_id and needs, in its migration:
  GRANT SELECT, INSERT, UPDATE, DELETE ON ${name} TO ${TENANT_ROLE};
  ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON ${name} USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);`;
}
