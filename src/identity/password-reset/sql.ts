import { type Db, exec, maybeOne, one, raw, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Language } from '../mail-text.ts';
import { PASSWORD_SIGNS_IN } from '../users/sql.ts';

/** The NOTIFY channel on which workers listen; a new request wakes them. */
export const PASSWORD_RESET_CHANNEL = 'heliograph_password_reset';

/** Inserts a request, unless one for this username waits already. It takes the same time for every username. */
export const insertResetRequest = (db: Db, request: { username: string; language: Language }): Promise<number> =>
  exec(
    db,
    sql`WITH request AS (
          INSERT INTO password_reset_request (username, language) VALUES (${request.username}, ${request.language})
          ON CONFLICT (username) DO NOTHING)
        SELECT pg_notify(${PASSWORD_RESET_CHANNEL}, '')`,
  );

/** Deletes the oldest request and returns it. In a transaction that is rolled back, it waits again. */
export const deleteNextResetRequest = (db: Db): Promise<{ username: string; language: Language } | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM password_reset_request WHERE username = (
          SELECT username FROM password_reset_request ORDER BY requested_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING username, language`,
  );

const RESETTABLE = columns({
  userId: as<number>('u.id'),
  accountId: as<number>('u.account_id'),
  username: as<string>('u.username'),
});
export type Resettable = RowOf<typeof RESETTABLE>;

/** Finds a user who may reset the password, in any account that is not suspended. */
export const findResettable = (db: Db, { username }: { username: string }): Promise<Resettable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${RESETTABLE} FROM app_user u JOIN account a ON a.id = u.account_id
        WHERE u.username = ${username} AND a.status = 'active' AND ${raw(PASSWORD_SIGNS_IN)}`,
  );

/** Inserts a link, and returns when it ends. */
export const insertReset = (
  db: Db,
  reset: { hash: Buffer; accountId: number; userId: number; validSeconds: number },
): Promise<{ expiresAt: Date }> =>
  one(
    db,
    sql`INSERT INTO password_reset (hash, account_id, user_id, expires_at)
        VALUES (${reset.hash}, ${reset.accountId}, ${reset.userId}, now() + make_interval(secs => ${reset.validSeconds}))
        RETURNING expires_at AS "expiresAt"`,
  );

/** Finds the user of a link, of any account. Undefined if the link is used or expired. */
export const findReset = (db: Db, { hash }: { hash: Buffer }): Promise<Resettable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${RESETTABLE} FROM password_reset r JOIN app_user u ON u.id = r.user_id JOIN account a ON a.id = u.account_id
        WHERE r.hash = ${hash} AND r.expires_at > now() AND a.status = 'active'`,
  );

/** Ends a link that has not expired. Returns 0 if it was used in the meantime. */
export const endReset = (db: Db, { accountId, hash }: { accountId: number; hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`UPDATE password_reset SET expires_at = now()
        WHERE account_id = ${accountId} AND hash = ${hash} AND expires_at > now()`,
  );

/** Ends the links of a user. */
export const endResetsOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE password_reset SET expires_at = now()
        WHERE account_id = ${input.accountId} AND user_id = ${input.userId} AND expires_at > now()`,
  );

/** Deletes links that have expired, of all accounts. */
export const deleteExpiredResets = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM password_reset WHERE expires_at <= now()`);
