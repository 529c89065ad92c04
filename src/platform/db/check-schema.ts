import { CURRENT_SCHEMA } from './current-schema.ts';
import { type Db, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

/**
 * Checks that the tables of this program are, or can be, in the schema that `search_path` begins with, and that this
 * user may change them. Returns its name, quoted where SQL needs it. Throws a StartupError with the correction.
 *
 * One database holds one installation: locks and notifications are shared by all of its schemas, so that two would wait
 * for each other and receive each other's notifications.
 */
export async function checkSchema(db: Db): Promise<string> {
  const { schema, user, searchPath, mayCreate, owner, other } = await one<Rights>(db, RIGHTS);
  if (schema === null)
    throw new StartupError(
      `The search_path of ${user} (${searchPath}) names no schema that exists and that ${user} may use: ` +
        `create it with CREATE SCHEMA name AUTHORIZATION ${user}, or correct the path with ALTER ROLE ${user} SET search_path = name.`,
    );
  if (other !== null)
    throw new StartupError(
      `The schema ${other} of this database has the tables of an installation, and the search_path of ${user} begins with ` +
        `${schema}: run ALTER ROLE ${user} SET search_path = ${other}, or use another database. A database holds one installation.`,
    );
  if (owner !== null)
    throw new StartupError(
      `The tables in the schema ${schema} belong to ${owner}: connect as ${owner}, or run GRANT ${owner} TO ${user}.`,
    );
  if (!mayCreate)
    throw new StartupError(
      `PostgreSQL does not allow ${user} to create tables in the schema ${schema}. ` +
        `Run this once as an administrator, then start again:  ALTER SCHEMA ${schema} OWNER TO ${user};`,
    );
  return schema;
}

type Rights = {
  schema: string | null;
  user: string;
  searchPath: string;
  mayCreate: boolean | null;
  /** Owner of the tables, if not this user. */
  owner: string | null;
  /** Another schema of this database with an installation. */
  other: string | null;
};

const RIGHTS = sql`
  SELECT quote_ident(current_schema()) AS schema, quote_ident(current_user) AS user,
         current_setting('search_path') AS "searchPath", has_schema_privilege(${CURRENT_SCHEMA}, 'CREATE') AS "mayCreate",
         (SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class
           WHERE relnamespace = ${CURRENT_SCHEMA} AND relname = 'schema_migration' AND NOT pg_has_role(relowner, 'USAGE'))
           AS owner,
         (SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE c.relname = 'schema_migration' AND c.relkind = 'r' AND n.nspname <> current_schema()
             AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'sha256')
           LIMIT 1) AS other`;
