import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientBase } from 'pg';
import { expect, test } from 'vitest';
import { CAMPAIGN } from '../src/engagement/campaigns/states.ts';
import { isFinal, STATUS } from '../src/messaging/states.ts';
import { testDatabase } from '../test/support/database.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGE = await readFile(join(ROOT, 'docs/data-model.md'), 'utf8');
const SCHEMA = await readFile(join(ROOT, 'db/schema.sql'), 'utf8');
const database = testDatabase();

/** The columns of each table in db/schema.sql. */
const TABLES = new Map(
  [...SCHEMA.matchAll(/^CREATE TABLE (\w+) \(\n([^]*?)^\)/gm)].map(([, name, body = '']) => [
    name,
    new Set([...body.matchAll(/^ {2}([a-z_]+) /gm)].map(([, column]) => column)),
  ]),
);

test('every column that the page describes is there', () => {
  const sections = [...PAGE.matchAll(/^### `(\w+)`\n([^]*?)(?=^#|$(?![^]))/gm)];
  expect(sections.length).toBeGreaterThan(20);
  const missing = sections.flatMap(([, table = '', text = '']) => {
    const described = [...text.matchAll(/^\| (`[^|]*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, column]) => column),
    );
    const columns = TABLES.get(table);
    return described.filter((column) => columns?.has(column) !== true).map((column) => `${table}.${column}`);
  });
  expect(missing).toEqual([]);
});

test('the numbers of states are those of the program', () => {
  const yes = (code: number): string => (isFinal(code) ? 'yes' : 'no');
  const messages = Object.entries(STATUS).map(([name, code]) => `| ${code} | ${name} | ${yes(code)} |\n`);
  const campaigns = Object.entries(CAMPAIGN).map(([name, code]) => `| ${code} | ${name} |\n`);
  expect(PAGE).toContain(`|---|---|---|\n${messages.join('')}\n`);
  expect(PAGE).toContain(`|---|---|\n${campaigns.join('')}\n`);
});

/** Runs every statement of the page in its order in one transaction, which is undone with the role that it creates. */
async function follow(tx: ClientBase, asAnalyst: (sql: string) => Promise<void>): Promise<void> {
  const blocks = [...PAGE.matchAll(/^```sql\n([^]*?)^```$/gm)].map(([, text = '']) => text);
  expect(blocks.length).toBeGreaterThan(5);
  for (const sql of blocks) {
    if (sql.startsWith('CREATE ROLE')) await tx.query(`${sql}; SET LOCAL ROLE analyst`);
    else await asAnalyst(sql);
  }
}

test('every statement of the page works for its role, which sees one account and writes nothing', async () => {
  const tx = await database.pool.connect();
  try {
    await tx.query('BEGIN');
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
  } finally {
    await tx.query('ROLLBACK');
    tx.release();
  }
});
