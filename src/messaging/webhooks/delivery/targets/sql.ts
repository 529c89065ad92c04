import { type Db, exec, one, sql } from '../../../../platform/db/query.ts';

/** A registration: the account's webhook, unless it was replaced meanwhile. */
type Registration = { readonly accountId: number; readonly id: number };

/** Records that a webhook fails, from now on. */
export async function moveToFailing(db: Db, { accountId, id }: Registration): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET failing_since = now()
        WHERE account_id = ${accountId} AND id = ${id} AND failing_since IS NULL`,
  );
}

/** Records that it has succeeded. */
export async function moveToSucceeding(db: Db, { accountId, id }: Registration): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET failing_since = NULL
        WHERE account_id = ${accountId} AND id = ${id} AND failing_since IS NOT NULL`,
  );
}

/** Stops posting to it, until its owner or the operator enables it again. */
export async function moveToDisabled(
  db: Db,
  { accountId, id, reason }: Registration & { reason: string },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = ${reason}, updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'active'`,
  );
}

/** Counts the disabled webhooks of all accounts. */
export async function countDisabled(db: Db): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM webhook_endpoint WHERE status = 'disabled'`,
  );
  return row.count;
}
