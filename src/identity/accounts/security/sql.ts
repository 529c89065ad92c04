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

/** Policies for the second factors of an account's users. */
export const SECOND_FACTOR_POLICIES = ['optional', 'required'] as const;
export type SecondFactorPolicy = (typeof SECOND_FACTOR_POLICIES)[number];

/** Finds the policy of an account on second factors; `hasOwn` is true if this user, if any, has one. */
export const findSecondFactorPolicy = (
  db: Db,
  input: { accountId: number; userId: number | null },
): Promise<{ secondFactor: SecondFactorPolicy; hasOwn: boolean } | undefined> =>
  maybeOne<{ secondFactor: SecondFactorPolicy; hasOwn: boolean }>(
    db,
    sql`SELECT a.second_factor AS "secondFactor",
        EXISTS (SELECT FROM totp_factor f WHERE f.user_id = ${input.userId} AND f.secret IS NOT NULL)
          OR EXISTS (SELECT FROM passkey k WHERE k.user_id = ${input.userId}) AS "hasOwn"
      FROM account a WHERE a.id = ${input.accountId}`,
  );

/** Sets the policy on second factors. Returns 1, or 0 if it is unchanged. */
export const updateSecondFactorPolicy = (
  db: Db,
  input: { accountId: number; secondFactor: SecondFactorPolicy },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET second_factor = ${input.secondFactor}
      WHERE id = ${input.accountId} AND second_factor <> ${input.secondFactor}`,
  );

/** Replaces the allow-list, effective with the next request on every process. Returns 0 if it is the same. */
export const updateAllowList = (db: Db, list: { accountId: number } & AllowList): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET ip_allow_list = ${list.ipAllowList}::cidr[], ip_allow_list_enforced = ${list.enforced}
      WHERE id = ${list.accountId}
        AND (ip_allow_list, ip_allow_list_enforced) IS DISTINCT FROM (${list.ipAllowList}::cidr[], ${list.enforced})`,
  );
