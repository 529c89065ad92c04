import { type Db, exec, many, sql } from '../../platform/db/query.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';

/** The kinds of binds. */
export type BindMode = 'transmitter' | 'receiver' | 'transceiver';

type Credential = { readonly accountId: number; readonly credentialId: number };

/** Locks a credential until the transaction ends, so that its binds are counted one after the other. */
export const lockCredential = (db: Db, { accountId, credentialId }: Credential): Promise<number> =>
  exec(db, sql`SELECT FROM smpp_credential WHERE account_id = ${accountId} AND id = ${credentialId} FOR NO KEY UPDATE`);

/** Deletes the binds of a credential whose process has died. */
export const deleteDeadBinds = (db: Db, { accountId, credentialId }: Credential): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM smpp_bind b WHERE b.account_id = ${accountId} AND b.credential_id = ${credentialId}
          AND NOT ${isOwnerAlive(sql`b.owner`)}`,
  );

export type NewBind = Credential & {
  readonly owner: number;
  readonly mode: BindMode;
  readonly address: string;
  readonly maxBinds: number;
};

/** Inserts a bind unless the credential has as many as it may have. Returns its id, or nothing. */
export async function insertBind(db: Db, bind: NewBind): Promise<number | undefined> {
  const { accountId, credentialId, owner, mode, address, maxBinds } = bind;
  const rows = await many<{ id: number }>(
    db,
    sql`INSERT INTO smpp_bind (account_id, credential_id, owner, mode, address)
        SELECT ${accountId}::bigint, ${credentialId}::bigint, ${owner}::bigint, ${mode}, ${address}
        WHERE (SELECT count(*) FROM smpp_bind b
               WHERE b.account_id = ${accountId} AND b.credential_id = ${credentialId}) < ${maxBinds}
        RETURNING id`,
  );
  return rows[0]?.id;
}

export const deleteBinds = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_bind WHERE id = ANY (${ids}::bigint[])`);
