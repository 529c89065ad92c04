import type { Pool, PoolClient } from 'pg';

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. A client whose rollback
 * fails is thrown away, not returned to the pool with a transaction open.
 */
export async function transaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((e: Error) => {
      broken = e;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
