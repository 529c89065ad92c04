import { sabotage } from './replace.ts';

// As programs do that recordSettled their progress in one statement and make the messages in another.
sabotage([
  {
    file: 'src/campaigns/run.ts',
    find: 'return transaction(pool, async (tx) => {',
    put: `return (async (work: (tx: PoolClient) => Promise<StepResult | null>) => {
      const client = await pool.connect();
      try {
        return await work(client);
      } finally {
        client.release();
      }
    })(async (tx) => {`,
  },
]);
