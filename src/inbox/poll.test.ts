import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { findNextWatchedMs } from './store.ts';
import { pollReplies } from './watch.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';

let inbox: TestInbox;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());

async function answer(): Promise<string> {
  const response = await inbox.app.inject({
    method: 'POST',
    url: `${PATH}/reply`,
    headers: { 'x-api-key': inbox.account.apiKey },
    payload: { channel: 'SMS', destination: '+393331234567', channelIdentity: '4400', text: 'Hello' },
  });
  return response.json().id;
}

const pool = () => inbox.database.pool;
const setState = (id: string, status: number) =>
  exec(
    pool(),
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
        VALUES (${inbox.account.accountId}, ${id}, ${status}, 1, now())
        ON CONFLICT (account_id, id) DO UPDATE SET status = excluded.status`,
  );
const makeDue = () => exec(pool(), sql`UPDATE inbox_watch SET due_at = now()`);
const pollAgain = async (at = new Date()) => {
  await makeDue();
  return pollReplies(pool(), () => at);
};
/** Counts how often a new status of this reply was published. */
const published = async (id: string): Promise<number> =>
  (await many(pool(), sql`SELECT FROM inbox_event WHERE kind = 'status' AND message_id = ${id}`)).length;
const watched = async (id: string): Promise<string[]> =>
  (await many<{ status: string }>(pool(), sql`SELECT status FROM inbox_watch WHERE message_id = ${id}`)).map(
    (row) => row.status,
  );

test('each new status of a reply is published once, until it was read', async () => {
  const id = await answer();
  expect(await pollAgain()).toBe(1);
  expect([await published(id), await watched(id)]).toEqual([1, ['ACCEPTED']]);
  await pollAgain();
  expect(await published(id)).toBe(1);
  await setState(id, 3);
  await pollAgain();
  await pollAgain();
  expect([await published(id), await watched(id)]).toEqual([2, ['DELIVERED']]);
  await exec(pool(), sql`UPDATE message_state SET read_at = now() WHERE id = ${id}`);
  await pollAgain();
  expect([await published(id), await watched(id)]).toEqual([3, []]);
  expect(await pollAgain()).toBe(0);
});

test('a failed reply is published and not polled again', async () => {
  const id = await answer();
  await setState(id, 6);
  await pollAgain();
  expect([await published(id), await watched(id)]).toEqual([1, []]);
});

test('a reply that nobody reads is given up after three days', async () => {
  const id = await answer();
  await setState(id, 3);
  await pollAgain(new Date(Date.now() + 2 * 86_400_000));
  expect(await watched(id)).toEqual(['DELIVERED']);
  await pollAgain(new Date(Date.now() + 4 * 86_400_000));
  expect([await published(id), await watched(id)]).toEqual([1, []]);
});

test('waiting replies are polled less and less often', async () => {
  const id = await answer();
  const nextMs = async (afterMs: number) => {
    await pollAgain(new Date(Date.now() + afterMs));
    return ((await findNextWatchedMs(pool())) ?? 0) - afterMs;
  };
  const [soon, late] = [await nextMs(0), await nextMs(86_400_000)];
  expect(late).toBeGreaterThan(soon);
  expect(late).toBeLessThanOrEqual(60_000);
  await exec(pool(), sql`DELETE FROM inbox_watch WHERE message_id = ${id}`);
  expect(await findNextWatchedMs(pool())).toBeNull();
});

test('two workers poll each reply once', async () => {
  const ids = await Promise.all([answer(), answer(), answer()]);
  await makeDue();
  const counts = await Promise.all([1, 2, 3].map(() => pollReplies(pool(), () => new Date())));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
  expect(await Promise.all(ids.map(published))).toEqual([1, 1, 1]);
});
