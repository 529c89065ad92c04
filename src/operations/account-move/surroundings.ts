import { secretOf } from '../../network/connections/save.ts';
import { listConnections } from '../../network/connections/sql.ts';
import { type Db, one, sql } from '../../platform/db/query.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';

/** Lists what shows that the target has another SECRET_KEY, which could not open the tokens of an account. */
export async function listForeignSecrets(target: Db, key: SecretKey): Promise<string[]> {
  const [connection] = await listConnections(target);
  if (connection === undefined) return [];
  try {
    secretOf(connection, key);
    return [];
  } catch {
    return ['The target has another SECRET_KEY: the tokens and secrets of the account could not be opened there.'];
  }
}

/** Lists what is in the way of an account whose files are in a folder of this machine. */
export async function listLocalFiles(source: Db, accountId: number): Promise<string[]> {
  const { count } = await one<{ count: number }>(
    source,
    sql`SELECT (SELECT count(*) FROM media WHERE account_id = ${accountId})
             + (SELECT count(*) FROM export WHERE account_id = ${accountId} AND file_key IS NOT NULL) AS count`,
  );
  if (count === 0) return [];
  return [
    `The account has ${count} files in a folder of this cell: copy them to that of the target, and run the command again with --files-are-copied.`,
  ];
}
