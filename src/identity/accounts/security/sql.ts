import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const ALLOW_LIST = columns({
  /** Canonical blocks, in the given order. */
  ipAllowList: as<string[]>('ip_allow_list::text[]'),
  /** If false, the list is stored but every address is accepted. */
  enforced: as<boolean>('ip_allow_list_enforced'),
});
/** The addresses from which an account may be used. */
export type AllowList = RowOf<typeof ALLOW_LIST>;

export const findAllowList = (db: Db, { accountId }: { accountId: number }): Promise<AllowList | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${ALLOW_LIST}
      FROM account WHERE id = ${accountId}`,
  );

/** Replaces the allow-list, effective with the next request on every process. */
export const updateAllowList = (db: Db, input: { accountId: number } & AllowList): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET ip_allow_list = ${input.ipAllowList}::cidr[], ip_allow_list_enforced = ${input.enforced}
      WHERE id = ${input.accountId}`,
  );
