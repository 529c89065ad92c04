import { type Db, one, sql } from './query.ts';
import { as, columns, type RowOf } from './select.ts';
import { TENANT_ROLE } from './tenant-role.ts';

const RIGHTS = columns({
  user: as<string>('quote_ident(current_user)'),
  schema: as<string>("coalesce(quote_ident(current_schema()), '')"),
  // A partition belongs to the owner of its table, so only that owner may create and drop one.
  strangeTables: as<number>(`(SELECT count(*) FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'S')
      AND NOT pg_has_role(relowner, 'USAGE'))`),
  mayCreate: as<boolean>("coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"),
  mayEnterTenant: as<boolean>(
    sql`EXISTS (SELECT FROM pg_roles WHERE rolname = ${TENANT_ROLE} AND pg_has_role(oid, 'SET'))`,
  ),
});
type Rights = RowOf<typeof RIGHTS>;

/** A right that the user of the database lacks: its purpose, and the statement with which a superuser grants it. */
export type MissingRight = { readonly what: string; readonly cure: string };

/**
 * Finds the rights that the program needs, now or in the course of a week, and that the user of the database lacks: to
 * create and drop the partitions of days, and to enter the role under which the statements for one account run.
 */
export async function findMissingRights(db: Db): Promise<MissingRight[]> {
  return missing(await one(db, sql`SELECT ${RIGHTS}`));
}

function missing({ user, schema, strangeTables, mayCreate, mayEnterTenant }: Rights): MissingRight[] {
  if (schema === '') return [{ what: 'to use a schema', cure: `ALTER ROLE ${user} SET search_path = public` }];
  const rights: MissingRight[] = [];
  if (!mayCreate)
    rights.push({ what: `to create tables in ${schema}`, cure: `GRANT CREATE ON SCHEMA ${schema} TO ${user}` });
  if (strangeTables > 0)
    rights.push({
      what: `to change ${strangeTables} tables and sequences of another owner`,
      cure: `REASSIGN OWNED BY <their owner> TO ${user}`,
    });
  if (!mayEnterTenant)
    rights.push({ what: `to enter the role ${TENANT_ROLE}`, cure: `GRANT ${TENANT_ROLE} TO ${user}` });
  return rights;
}
