import { CURRENT_SCHEMA } from './current-schema.ts';
import { type Db, many, sql } from './query.ts';
import { TENANT_ROLE } from './tenant-role.ts';

/**
 * Checks that the schema keeps up the second wall between accounts (docs/decisions/0010-two-walls.md). Returns one
 * sentence per violation, an empty list if there is none. The rules:
 *
 * - a table with account_id has row-level security, a policy for all commands that compares account_id with
 *   app.account_id, no other policy (PostgreSQL joins policies by OR), and the tenant role may read it;
 * - a view of accounts reads with the rights of who reads (security_invoker), so the rules of its tables hold;
 * - of a table without policies the tenant role may only read columns that were granted by name;
 * - the tenant role has no rights on partitions, which have no policies of their own.
 */
export async function checkRlsRules(db: Db): Promise<string[]> {
  const tables = await many<TableRules>(db, RULES);
  return tables.flatMap((table) => violation(table) ?? []);
}

type TableRules = {
  name: string;
  partition: boolean;
  has_account: boolean;
  /** Whether it is a view that reads with the rights of who reads. */
  invoker: boolean;
  secured: boolean;
  /** The policies for all commands, as PostgreSQL writes them. */
  policies: string[];
  other_policies: number;
  reads: boolean;
  writes: boolean;
};

/** The comparison in 0016_rls.sql, as PostgreSQL writes it. */
const OWN_ACCOUNT = "(account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)";

const RULES = sql`
  SELECT c.relname AS name, c.relispartition AS partition, c.relrowsecurity AS secured,
         EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'account_id' AND NOT attisdropped)
           AS has_account,
         c.relkind = 'v' AND coalesce('security_invoker=true' = ANY (c.reloptions), false) AS invoker,
         ARRAY (SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
                 WHERE polrelid = c.oid AND polcmd = '*' AND polpermissive AND polwithcheck IS NULL) AS policies,
         (SELECT count(*) FROM pg_policy
           WHERE polrelid = c.oid AND polpermissive AND (polcmd <> '*' OR polwithcheck IS NOT NULL)) AS other_policies,
         has_table_privilege(${TENANT_ROLE}, c.oid, 'SELECT') AS reads,
         has_table_privilege(${TENANT_ROLE}, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') AS writes
    FROM pg_class c
   WHERE c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   ORDER BY 1`;

function violation({ name, partition, invoker, ...table }: TableRules): string | undefined {
  if (invoker) return undefined;
  if (partition)
    return table.reads || table.writes ? `${name}: a partition may only be used through its table` : undefined;
  if (table.has_account) return accountViolation(name, table);
  if (!table.reads && !table.writes) return undefined;
  return table.secured && table.policies.length === 1
    ? undefined
    : `${name}: has no policy, so ${TENANT_ROLE} may only read columns of it that are granted by name`;
}

function accountViolation(name: string, table: Omit<TableRules, 'name' | 'partition' | 'invoker'>): string | undefined {
  const own = table.policies.length === 1 && table.policies[0] === OWN_ACCOUNT && table.other_policies === 0;
  if (table.secured && own && table.reads) return undefined;
  return `${name}: has account_id and needs, in its migration:
  GRANT SELECT, INSERT, UPDATE, DELETE ON ${name} TO ${TENANT_ROLE};
  ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON ${name} USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);`;
}
