import pg from 'pg';
import { type Db, exec, maybeOne, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

/**
 * Makes sure that the extension pg_trgm, by which contacts and conversations are searched, is installed and that this
 * session finds it: managed services install extensions into a separate schema. Statements need no such path, because
 * the indexes know their operators.
 *
 * Throws a StartupError with the statement to run if the user lacks the rights or the service does not offer it.
 */
export async function ensureTrigrams(session: Db): Promise<void> {
  const found = await maybeOne<Extension>(session, FIND);
  const { schema, user, mayUse } = found ?? (await create(session));
  if (!mayUse)
    throw new StartupError(
      `PostgreSQL does not allow ${user} to use the schema ${schema}, which contains the extension pg_trgm. ` +
        `Run this once as its administrator, then start again:  GRANT USAGE ON SCHEMA ${schema} TO ${user};`,
    );
  await exec(
    session,
    sql`SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), ${schema}::text), false)`,
  );
}

type Extension = { schema: string; user: string; mayUse: boolean };

const FIND = sql`
  SELECT quote_ident(n.nspname) AS schema, quote_ident(current_user) AS user,
         has_schema_privilege(n.oid, 'USAGE') AS "mayUse"
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'`;

async function create(session: Db): Promise<Extension> {
  try {
    await exec(session, sql`CREATE EXTENSION pg_trgm`);
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    throw new StartupError(
      `The extension pg_trgm, which searches contacts, could not be installed (${cause.message}). ` +
        'Run this once in the database as an administrator, then start again:  CREATE EXTENSION pg_trgm;',
      { cause },
    );
  }
  return one<Extension>(session, FIND);
}
