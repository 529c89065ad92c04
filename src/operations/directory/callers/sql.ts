import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

const BY_HASH = columns({ id: as<string>("encode(hash, 'hex')"), accountId: as<number>('account_id') });
/** Which account of a cell somebody belongs to; `id` is what was asked for. */
export type Owner = RowOf<typeof BY_HASH>;

/**
 * Lists the accounts of API keys, sessions, begun sign-ins, links in mails, and returns from other sites, by the hashes
 * (in hex) under which all of them are stored. Whether they are still valid is up to the cell.
 */
export const listOwnersOfHashes = (db: Db, { ids }: { ids: readonly string[] }): Promise<Owner[]> =>
  many(
    db,
    sql`WITH asked AS MATERIALIZED (SELECT array_agg(decode(id, 'hex')) AS hashes FROM unnest(${ids}::text[]) AS id)
      SELECT ${BY_HASH} FROM (
        SELECT key_hash AS hash, account_id FROM api_key_value WHERE key_hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT token_hash, account_id FROM user_session WHERE token_hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT token_hash, account_id FROM pending_sign_in WHERE token_hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT token_hash, account_id FROM invitation WHERE token_hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT hash, account_id FROM password_reset WHERE hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT hash, account_id FROM single_sign_on_state WHERE hash = ANY ((SELECT hashes FROM asked)::bytea[])
        UNION ALL
        SELECT hash, account_id FROM social_state WHERE hash = ANY ((SELECT hashes FROM asked)::bytea[])) AS owner`,
  );

/** Lists the accounts of users, by their names. */
export const listOwnersOfUsers = (db: Db, { ids }: { ids: readonly string[] }): Promise<Owner[]> =>
  many<Owner>(
    db,
    sql`SELECT username AS id, account_id AS "accountId" FROM app_user WHERE username = ANY (${ids}::text[])`,
  );

/** Lists the accounts that sign in with a provider, by their short names and by their mail domains. */
export const listOwnersOfCompanies = (db: Db, { ids }: { ids: readonly string[] }): Promise<Owner[]> =>
  many<Owner>(
    db,
    sql`SELECT short_name AS id, account_id AS "accountId" FROM single_sign_on WHERE short_name = ANY (${ids}::text[])
      UNION ALL
      SELECT domain, account_id FROM single_sign_on_domain WHERE domain = ANY (${ids}::text[])`,
  );
