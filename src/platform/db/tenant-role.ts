import { type Db, exec, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';

/** The role whose rights a query for one account has: no owner, no login, under row-level security. */
export const TENANT_ROLE = 'heliograph_tenant';

const NOT_ALLOWED = '42501';

/**
 * Makes sure that the tenant role exists and that this database user may take it on. Roles belong to the cluster, not
 * to the database: another database of it may have made the role already, or be making it at this moment, and a backup
 * that is restored elsewhere comes without it. So this is looked at on every start and is not part of a migration.
 *
 * Throws a StartupError that says what to run when the user may not do this itself. There is no way to go on without:
 * a gateway with one wall in place of two should not look like any other.
 */
export async function ensureTenantRole(db: Db): Promise<void> {
  try {
    await exec(db, ENSURE);
  } catch (cause) {
    if (!isNotAllowed(cause)) throw cause;
    const { user } = await one<{ user: string }>(db, sql`SELECT quote_ident(current_user) AS user`);
    throw new StartupError(
      `PostgreSQL does not let ${user} make or take on the role ${TENANT_ROLE}, which keeps accounts apart. ` +
        `Run this once as a superuser (leave the first out if the role exists), then start again:  ` +
        `CREATE ROLE ${TENANT_ROLE} NOLOGIN;  GRANT ${TENANT_ROLE} TO ${user};`,
      { cause },
    );
  }
}

/** Two that do this at the same time: the second waits for the first and finds it done. */
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
