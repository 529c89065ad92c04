import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { explain } from '../../test/support/plans.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { insertEvents, insertTraces, listEvents, listTraces, type NewEvent } from './events.ts';

const { pool } = testDatabase();

const event = (messageId: string, more: Partial<NewEvent> = {}): NewEvent => ({
  accountId: 1,
  messageId,
  kind: 'receipt',
  connectionId: null,
  text: null,
  ...more,
});
const textsOf = async (accountId: number, messageId: string): Promise<(string | null)[]> =>
  (await listEvents(pool, { accountId, messageId })).map(({ text }) => text);

test('events of one transaction keep their order, and no message sees those of another', async () => {
  const [mine, other] = [newId(), newId()];
  const texts = Array.from({ length: 300 }, (_, n) => String(n));
  await transaction(pool, async (tx) => {
    await insertEvents(
      tx,
      texts.map((text, n) => event(n % 3 === 2 ? other : mine, { text })),
    );
    await insertEvents(tx, [event(mine, { text: 'last' })]);
  });
  expect(await textsOf(1, mine)).toEqual([...texts.filter((_, n) => n % 3 !== 2), 'last']);
  expect(await textsOf(1, other)).toHaveLength(100);
  expect(await textsOf(2, mine)).toEqual([]);
});

test('texts are read as they were written, except for a NUL', async () => {
  const id = newId();
  const text = 'stat:Olá "\\{},;\n\u0001 😀';
  await insertEvents(pool, [
    event(id, { text, details: { code: 'a\\u0000"\0', carrierIds: ['1,2'] } }),
    event(id, { text: 'a\0b' }),
  ]);
  expect(await textsOf(1, id)).toEqual([text, 'a\ufffdb']);
  expect((await listEvents(pool, { accountId: 1, messageId: id }))[0]?.details).toEqual({
    code: 'a\\u0000"\ufffd',
    carrierIds: ['1,2'],
  });
});

test('an event has the time of its transaction, unless it states another', async () => {
  const id = newId();
  const earlier = new Date('2026-11-21T10:00:00.123Z');
  const before = Date.now();
  await insertEvents(pool, [event(id), event(id, { at: earlier })]);
  const [own, told] = await listEvents(pool, { accountId: 1, messageId: id });
  expect(Math.abs((own?.at.getTime() ?? 0) - before)).toBeLessThan(5000);
  expect(told?.at).toEqual(earlier);
});

test('the trace that a message continues is found with it, and is no part of its timeline', async () => {
  const [id, other] = [newId(), newId()].toSorted() as [string, string];
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
  await insertTraces(pool, [{ accountId: 1, messageId: id, traceparent, state: 'vendor=1' }]);
  const keys = [id, other].map((messageId) => ({ accountId: 1, messageId }));
  expect(await listTraces(pool, { keys, firstId: id, lastId: other })).toEqual([
    { messageId: id, traceparent, state: 'vendor=1' },
  ]);
  expect(await listTraces(pool, { keys: [{ accountId: 2, messageId: id }], firstId: id, lastId: id })).toEqual([]);
  expect(await textsOf(1, id)).toEqual([]);
});

test('an empty list makes no query', async () => {
  await insertEvents({ query: () => Promise.reject(new Error('asked')) }, []);
});

test('the events of a message are found by index, on its day alone', async () => {
  const scans = await explain(pool, (db) => listEvents(db, { accountId: 1, messageId: newId() }));
  const ofEvents = scans.filter(({ table }) => table?.startsWith('message_event'));
  expect(ofEvents.length).toBe(1);
  expect(ofEvents[0]?.how).not.toBe('Seq Scan');
});
