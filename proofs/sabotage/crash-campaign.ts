import type { PoolClient } from 'pg';
import { CAMPAIGN_POOL } from '../../src/worker.ts';

const TRANSACTION = /^(BEGIN|COMMIT|ROLLBACK)$/;

// As programs do that record their progress in one statement and make the messages in another.
CAMPAIGN_POOL.put((pool) =>
  withOwn(pool, 'connect', async () => {
    const client: PoolClient = await pool.connect();
    return withOwn(client, 'query', (statement: string, ...values: []) =>
      TRANSACTION.test(statement) ? Promise.resolve({ command: statement }) : client.query(statement, ...values),
    );
  }),
);

/** An object that does as another one, except for one method. */
function withOwn<T extends object>(real: T, name: keyof T, own: unknown): T {
  return new Proxy(real, {
    get(of, key) {
      if (key === name) return own;
      const value: unknown = Reflect.get(of, key);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}
