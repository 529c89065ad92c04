import { type Db, exec, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

/** The role that queries for one account run as: it owns nothing, cannot log in, and is under row-level security. */
export const TENANT_ROLE = 'heliograph_tenant';

const NOT_ALLOWED = '42501';

/**
 * Makes sure that the tenant role exists and that this database user may switch to it. Roles belong to the cluster, not
 * to the database: another database may have created the role already, or be creating it at this moment, and a backup
 * restored elsewhere comes without it. So this is checked at every start and is not part of a migration.
 *
 * Throws a StartupError with the statements to run if the user lacks the privileges. The program must not continue
 * without the role: a gateway with one wall instead of two should not look like any other.
 */
export async function ensureTenantRole(db: Db): Promise<void> {
  try {
    await exec(db, ENSURE);
  } catch (cause) {
    if (!isNotAllowed(cause)) throw cause;
    const { user } = await one<{ user: string }>(db, sql`SELECT quote_ident(current_user) AS user`);
    throw new StartupError(
      `PostgreSQL does not allow ${user} to create or use the role ${TENANT_ROLE}, which separates the accounts. ` +
        `Run this once as a superuser (skip the first statement if the role exists), then start again:  ` +
        `CREATE ROLE ${TENANT_ROLE} NOLOGIN;  GRANT ${TENANT_ROLE} TO ${user};`,
      { cause },
    );
  }
}

/** Of two concurrent runs the second waits for the first and then finds nothing left to do. */
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
  END $$`;

const isNotAllowed = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === NOT_ALLOWED;
