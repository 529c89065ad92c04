import { bigint, int, rowsOf } from '../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';

/** The kinds of binds. */
export type BindMode = 'transmitter' | 'receiver' | 'transceiver';

type Credential = { readonly accountId: number; readonly credentialId: number };

/** Locks a credential until the transaction ends, so that its binds are counted one after the other. */
export const lockCredential = (db: Db, { accountId, credentialId }: Credential): Promise<number> =>
  exec(db, sql`SELECT FROM smpp_credential WHERE account_id = ${accountId} AND id = ${credentialId} FOR NO KEY UPDATE`);

/** Deletes the binds of an account whose process has died. */
export const deleteDeadBinds = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_bind b WHERE b.account_id = ${accountId} AND NOT ${isOwnerAlive(sql`b.owner`)}`);

/** Maximum binds of one account, across its credentials: an account makes as many of these as it wants. */
const MAX_BINDS_OF_ACCOUNT = 200;

export type NewBind = Credential & {
  readonly owner: number;
  readonly mode: BindMode;
  readonly address: string;
  /** interface_version. */
  readonly version: number;
  readonly maxBinds: number;
};

/** Inserts a bind unless the credential, or its account, has reached its limit. Returns its id, or nothing. */
export async function insertBind(db: Db, bind: NewBind): Promise<number | undefined> {
  const { accountId, credentialId, owner, mode, address, version, maxBinds } = bind;
  const rows = await many<{ id: number }>(
    db,
    sql`INSERT INTO smpp_bind (account_id, credential_id, owner, mode, address, interface_version)
        SELECT ${accountId}::bigint, ${credentialId}::bigint, ${owner}::bigint, ${mode}, ${address}, ${version}::smallint
        WHERE (SELECT count(*) FROM smpp_bind b
               WHERE b.account_id = ${accountId} AND b.credential_id = ${credentialId}) < ${maxBinds}
          AND (SELECT count(*) FROM smpp_bind b WHERE b.account_id = ${accountId}) < ${MAX_BINDS_OF_ACCOUNT}
        RETURNING id`,
  );
  return rows[0]?.id;
}

export const deleteBinds = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_bind WHERE id = ANY (${ids}::bigint[])`);

/** Report of a process about one of its binds. */
export type BindReport = {
  readonly id: number;
  readonly submits: number;
  readonly throttled: number;
  readonly perSecond: number;
  readonly unanswered: number;
};

/** Stores the activity so far of binds of any accounts. */
export const updateBindReports = (db: Db, { reports }: { reports: readonly BindReport[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_bind b SET submits = u.submits, throttled = u.throttled, per_second = u.per_second,
          unanswered = u.unanswered
        FROM ${rowsOf(reports, {
          id: bigint((r) => r.id),
          submits: bigint((r) => r.submits),
          throttled: bigint((r) => r.throttled),
          per_second: int((r) => r.perSecond),
          unanswered: int((r) => r.unanswered),
        })} AS u
        WHERE b.id = u.id`,
  );

/** Counts the open binds of all accounts. */
export async function countBinds(db: Db): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM smpp_bind b WHERE ${isOwnerAlive(sql`b.owner`)}`,
  );
  return row.count;
}
