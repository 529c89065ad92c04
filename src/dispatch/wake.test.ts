import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createWaker, WAKE_CHANNEL } from './pump.ts';

const database = testDatabase({ empty: true });

async function otherProcess(): Promise<string[]> {
  const heard: string[] = [];
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  client.on('notification', ({ payload }) => void heard.push(payload ?? ''));
  await client.query(`LISTEN ${WAKE_CHANNEL}`);
  return heard;
}

test('the listeners of the connection are called at once, those of others and removed ones are not', () => {
  const waker = createWaker(database.pool);
  const heard: string[] = [];
  waker.onWake(1, () => heard.push('one'));
  waker.onWake(2, () => heard.push('two'));
  const off = waker.onWake(1, () => heard.push('left'));
  off();
  waker.wakeHere(1);
  expect(heard).toEqual(['one']);
});

test('other processes learn which connection has work', async () => {
  const heard = await otherProcess();
  createWaker(database.pool).wake(17);
  await expect.poll(() => heard).toEqual(['17']);
});

test('a burst becomes few notifications, and none of its connections is left out', async () => {
  const heard = await otherProcess();
  const waker = createWaker(database.pool);
  for (let i = 0; i < 1000; i++) waker.wake(i % 5);
  await expect.poll(() => [...new Set(heard)].sort()).toEqual(['0', '1', '2', '3', '4']);
  expect(heard.length).toBeLessThan(20);
});

test('a notification from another process is not sent again', async () => {
  const heard = await otherProcess();
  const waker = createWaker(database.pool);
  waker.wakeHere(3);
  waker.wake(4);
  await expect.poll(() => heard).toEqual(['4']);
});

test('no notification is sent for a connection that no other process has up, until one may have it', async () => {
  const heard = await otherProcess();
  const waker = createWaker(database.pool);
  const here: number[] = [];
  waker.onWake(1, () => here.push(1));
  waker.setShared(1, false);
  waker.wake(1);
  waker.wake(2);
  await expect.poll(() => heard).toEqual(['2']);
  waker.setShared(1, true);
  waker.wake(1);
  await expect.poll(() => heard).toEqual(['2', '1']);
  expect(here).toEqual([1, 1]);
});

test('an unavailable database does no harm, and the next wake-up is sent', async () => {
  const heard = await otherProcess();
  let away = true;
  const failing = new Proxy(database.pool, {
    get: (pool, name) =>
      name === 'query' && away
        ? () => {
            away = false;
            return Promise.reject(new Error('away'));
          }
        : Reflect.get(pool, name),
  });
  const waker = createWaker(failing);
  waker.wake(1);
  waker.wake(2);
  await expect.poll(() => heard).toEqual(['2']);
});
