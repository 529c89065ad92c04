import { type Db, exec, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

/** The role that queries for one account run as: it owns nothing, cannot log in, and is under row-level security. */
export const TENANT_ROLE = 'heliograph_tenant';

const NOT_ALLOWED = '42501';

/**
 * Makes sure that the tenant role exists, that this database user may switch to it, and that it may use the schema.
 * Roles belong to the cluster, not to the database: another database may have created the role already, or be creating
 * it at this moment, and a backup restored elsewhere comes without it. So this is checked at every start and is not
 * part of a migration.
 *
 * Throws a StartupError with the statements to run if the user lacks the privileges. The program must not continue
 * without the role: a gateway with one wall instead of two must not run unnoticed.
 */
export async function ensureTenantRole(db: Db): Promise<void> {
  try {
    await exec(db, ENSURE);
  } catch (cause) {
    if (!isNotAllowed(cause)) throw cause;
    const { user, schema } = await one<{ user: string; schema: string }>(
      db,
      sql`SELECT quote_ident(current_user) AS user, quote_ident(current_schema()) AS schema`,
    );
    throw new StartupError(
      `PostgreSQL does not allow ${user} to create or use the role ${TENANT_ROLE}, which separates the accounts. ` +
        `Run this once as an administrator (skip the first statement if the role exists), then start again:  ` +
        `CREATE ROLE ${TENANT_ROLE} NOLOGIN;  GRANT ${TENANT_ROLE} TO ${user};  ` +
        `GRANT USAGE ON SCHEMA ${schema} TO ${TENANT_ROLE};`,
      { cause },
    );
  }
}

/** Ensures the role. Of two concurrent runs the second waits for the first and then finds nothing left to do. */
const ENSURE = sql`
  DO $$
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'heliograph_tenant') THEN
      BEGIN
        CREATE ROLE heliograph_tenant NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF NOT pg_has_role('heliograph_tenant', 'SET') THEN
      BEGIN
        GRANT heliograph_tenant TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;
      EXCEPTION WHEN unique_violation THEN NULL;
      END;
    END IF;
    IF NOT has_schema_privilege('heliograph_tenant', current_schema(), 'USAGE') THEN
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO heliograph_tenant', current_schema());
    END IF;
    -- From a user who may not grant it, GRANT is a warning.
    IF NOT has_schema_privilege('heliograph_tenant', current_schema(), 'USAGE') THEN
      RAISE insufficient_privilege;
    END IF;
  END $$`;

const isNotAllowed = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === NOT_ALLOWED;
