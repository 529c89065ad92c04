import { sabotage } from './replace.ts';

// As workers do that take a job off the queue before they do it.
sabotage([
  {
    file: 'src/webhooks/deliver.ts',
    find: 'held.hold({ rows: fresh, done, retries: again });',
    put: `await pool.query({ text: 'DELETE FROM webhook_outbox WHERE id = ANY($1)', values: [fresh.map((row) => row.id)] });
    held.hold({ rows: fresh, done, retries: again });`,
  },
]);
