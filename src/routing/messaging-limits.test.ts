import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage } from '../../test/support/queue.ts';
import { personOf } from '../core/phone.ts';
import type { Job } from '../dispatch/held.ts';
import { jobOf } from '../messages/load.ts';
import { createReach } from '../messages/reach.ts';
import { changeMessagingLimit, listLimits, updateMessagingLimit } from './messaging-limits.ts';

const { pool } = testDatabase();

const content = { channel: 'WHATSAPP', message: { type: 'template', template: {} } } as const;
const job = (n: number, more: Partial<Job> = {}): Job => ({
  ...jobOf(newMessage({ channel: 'WHATSAPP', sender: '100', destination: `+39333${1_000_000 + n}` })),
  content,
  ...more,
});
const jobs = (from: number, count: number): Job[] => Array.from({ length: count }, (_, n) => job(from + n));

beforeEach(async () => {
  await pool.query('DELETE FROM messaging_limit');
  await pool.query('DELETE FROM portfolio_person');
  await pool.query('DELETE FROM conversation');
});

async function connection(name: string): Promise<number> {
  const { rows } = await pool.query(
    `INSERT INTO connection (name, kind, status, settings, secret) VALUES ($1, 'whatsapp', 'active', '{}', '') RETURNING id`,
    [name],
  );
  return rows[0].id;
}

const BULK = 1;
const URGENT = 0;
async function passing(connectionId: number, priority: number, list: readonly Job[]): Promise<Job[]> {
  const [limited = []] = await createReach(pool, connectionId).limit([{ accountId: 1, priority }], [[...list]]);
  return limited.filter((one): one is Job => one !== undefined && one.refusal === undefined);
}

test('the connections of a portfolio share its limit, of which a tenth is kept for single messages', async () => {
  const [one, other] = [await connection('one'), await connection('other')];
  for (const connectionId of [one, other])
    await updateMessagingLimit(pool, { connectionId, portfolio: 'p', people: 250 });
  expect(await passing(one, BULK, jobs(0, 200))).toHaveLength(200);
  expect(await passing(other, BULK, jobs(200, 100))).toHaveLength(25);
  expect(await passing(one, BULK, jobs(0, 200))).toHaveLength(200);
  expect(await passing(other, URGENT, jobs(300, 30))).toHaveLength(25);
  expect(await listLimits(pool)).toEqual([
    { connection: 'one', people: 250, used: 250 },
    { connection: 'other', people: 250, used: 250 },
  ]);
  await changeMessagingLimit(pool, { connectionId: one, people: 2000 });
  expect(await passing(other, BULK, jobs(400, 10))).toHaveLength(10);
  await changeMessagingLimit(pool, { connectionId: one, people: null });
  expect(await passing(other, BULK, jobs(1000, 3000))).toHaveLength(3000);
});

test('replies, people who wrote in the last 24 hours, and people reached before do not count', async () => {
  const connectionId = await connection('window');
  await updateMessagingLimit(pool, { connectionId, portfolio: 'w', people: 1 });
  const wrote = job(1);
  await pool.query(
    `INSERT INTO conversation (account_id, chat_id, channel, peer, identity, window_expires_at, last_direction, last_type, last_text, last_at)
     VALUES (1, gen_random_uuid(), 'WHATSAPP', $1, '100', now() + interval '1 hour', 'INBOUND', 'TEXT', '', now())`,
    [wrote.destination],
  );
  const { content: _, ...answer } = job(2);
  expect(await passing(connectionId, URGENT, [wrote, answer, job(3), job(3), job(4)])).toHaveLength(4);
  await pool.query(`UPDATE portfolio_person SET at = now() - interval '24 hours 1 second'`);
  expect(await passing(connectionId, URGENT, [job(4), job(5)])).toHaveLength(1);
});

test('a person whose message is rejected does not count', async () => {
  const connectionId = await connection('rejected');
  await updateMessagingLimit(pool, { connectionId, portfolio: 'r', people: 1 });
  const reach = createReach(pool, connectionId);
  const chunks = [{ accountId: 1, priority: URGENT }];
  const [[first] = []] = await reach.limit(chunks, [[job(1)]]);
  if (!first) throw new Error('no job');
  reach.settled(first, { kind: 'refused', status: 'UNSUPPORTED', code: '131026', text: '', carrierIds: [] });
  const [[next] = []] = await reach.limit(chunks, [[job(2)]]);
  expect(next?.refusal).toBeUndefined();
  const { rows } = await pool.query('SELECT person FROM portfolio_person');
  expect(rows).toEqual([{ person: personOf(job(2).destination) }]);
});
