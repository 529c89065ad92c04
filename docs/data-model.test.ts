import { CAMPAIGN } from '../src/campaigns/store.ts';
import { firstIdAt } from '../src/core/ids.ts';
import { STATUS } from '../src/core/message-state.ts';
import { DAY_MS } from '../src/core/time.ts';
import { testDatabase } from '../test/support/database.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientBase } from 'pg';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const PAGE = await readFile(join(ROOT, 'docs/data-model.md'), 'utf8');
const database = testDatabase();

/** Runs every statement of the page in its order in one transaction, which is undone with the role that it creates. */
async function follow(tx: ClientBase, asAnalyst: (sql: string) => Promise<void>): Promise<void> {
  const blocks = [...PAGE.matchAll(/^```sql\n([^]*?)^```$/gm)].map(([, text = '']) => text);
  expect(blocks.length).toBeGreaterThan(3);
  for (const sql of blocks) {
    if (sql.startsWith('CREATE ROLE')) await tx.query(`${sql}; SET LOCAL ROLE analyst`);
    else await asAnalyst(sql);
  }
}

/** Works in a transaction that is undone, with the tables of the page and their row-level security. */
async function undone(work: (tx: ClientBase) => Promise<void>): Promise<void> {
  const tx = await database.pool.connect();
  try {
    await tx.query('BEGIN');
    await work(tx);
  } finally {
    await tx.query('ROLLBACK');
    tx.release();
  }
}

test('every statement of the page works for its role, which sees one account and writes nothing', async () => {
  await undone(async (tx) => {
    await tx.query(`INSERT INTO credit_balance (account_id, available_micros) VALUES (1, 5), (2, 7)`);
    const seen: unknown[] = [];
    const look = async (): Promise<void> => {
      const { rows } = await tx.query('SELECT available_micros::int AS micros FROM credit_balance');
      seen.push(rows.map(({ micros }) => micros));
    };
    await follow(tx, async (sql) => {
      if (sql.startsWith('SET app.account_id')) await look();
      await tx.query(sql);
      if (sql.startsWith('SET app.account_id')) await look();
    });
    expect(seen).toEqual([[], [5]]);
    await expect(tx.query('DELETE FROM credit_balance')).rejects.toThrow('permission denied');
  });
});

test('the views have the columns of the page, in its order: they stay', async () => {
  const { rows } = await database.pool.query<{ view: string; columns: string[] }>(
    `SELECT table_name AS view, array_agg(column_name::text ORDER BY ordinal_position) AS columns
     FROM information_schema.columns WHERE table_schema = current_schema AND table_name LIKE 'v1\\_%' GROUP BY 1`,
  );
  const listed = [...PAGE.matchAll(/^\| `(v1_\w+)` \| (.*) \|$/gm)].map(([, view, cells = '']) => ({
    view,
    columns: ['account_id', ...cells.split(', ').map((cell) => cell.replaceAll('`', ''))],
  }));
  const byView = (lists: readonly { view?: string | undefined; columns: string[] }[]) =>
    Object.fromEntries(lists.map(({ view, columns }) => [view, columns]));
  expect(byView(listed)).toEqual(byView(rows));
});

const TODAY = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);

test('the views name every status, and an analyst sees one account through them', async () => {
  await undone(async (tx) => {
    const codes = Object.entries(STATUS);
    for (const [n, [, code]] of codes.entries()) {
      const id = firstIdAt(TODAY).replace(/\d{12}$/, String(n).padStart(12, '0'));
      await tx.query(
        `INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt, price_micros)
         VALUES (1, $1, 'SMS', 'API', false, 'Acme', '+393331234567', 'Hello', 1, true, 35000)`,
        [id],
      );
      await tx.query(
        'INSERT INTO message_state (account_id, id, status, attempts, updated_at) VALUES (1, $1, $2, 1, now())',
        [id, code],
      );
    }
    for (const [name, code] of Object.entries(CAMPAIGN))
      await tx.query(
        `INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at) VALUES (1, $1, $2, 'SMS', now())`,
        [name, code],
      );
    await follow(tx, async (sql) => void (await tx.query(sql)));
    const { rows: messages } = await tx.query(
      'SELECT status, price::float8, accepted_at FROM v1_message WHERE id >= v1_first_id($1)',
      [TODAY],
    );
    expect(messages.map(({ status }) => status).toSorted()).toEqual(Object.keys(STATUS).toSorted());
    expect(messages[0]).toMatchObject({ price: 0.035, accepted_at: TODAY });
    const { rows: campaigns } = await tx.query('SELECT name, status FROM v1_campaign');
    expect(campaigns.filter(({ name, status }) => name !== status)).toEqual([]);
    expect(campaigns).toHaveLength(Object.keys(CAMPAIGN).length);
    await tx.query(`SET app.account_id = '2'`);
    expect((await tx.query('SELECT FROM v1_message UNION ALL SELECT FROM v1_campaign')).rowCount).toBe(0);
  });
});

test('a day of the view has its folded hours and those that are open again, once', async () => {
  await undone(async (tx) => {
    await tx.query(`INSERT INTO traffic_day (account_id, day, campaign_id, channel, sent, delivered, read, failed, unsent, cost_micros)
                    VALUES (1, '2027-01-31', 0, 1, 10, 8, 0, 1, 0, 350000)`);
    await tx.query(`INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, sent, delivered, cost_micros)
                    VALUES (1, '2027-01-31 23:00Z', 0, 1, 3, 2, 2, 70000), (1, '2027-01-31 22:00Z', 0, 1, -1, 5, 5, 0)`);
    const { rows } = await tx.query(`SELECT day::text, campaign_id, channel, sent::int, delivered::int, cost::float8
                                     FROM v1_traffic_day`);
    expect(rows).toEqual([
      { day: '2027-01-31', campaign_id: null, channel: 'SMS', sent: 12, delivered: 10, cost: 0.42 },
    ]);
  });
});
