import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';

/** Canonical blocks, in their order. Not enforced, the list is kept and nobody is refused. */
export type AllowList = { ipAllowList: string[]; enforced: boolean };

export const findAllowList = (db: Db, { accountId }: { accountId: number }): Promise<AllowList | undefined> =>
  maybeOne(
    db,
    sql`SELECT ip_allow_list::text[] AS "ipAllowList", ip_allow_list_enforced AS enforced
      FROM account WHERE id = ${accountId}`,
  );

/** Holds from the next request on, on every process. */
export const updateAllowList = (db: Db, input: { accountId: number } & AllowList): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET ip_allow_list = ${input.ipAllowList}::cidr[], ip_allow_list_enforced = ${input.enforced}
      WHERE id = ${input.accountId}`,
  );
