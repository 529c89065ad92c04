import { expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const WINDOW = 25;
const COUNT = 1000;

/** The API in this process, the worker in another one, and a carrier that takes about 1,000 messages a second. */
const startApi = () =>
  startTestProgram({
    roles: { worker: false },
    carriers: { main: { settings: { window: WINDOW }, script: { responseDelayMs: 20 } } },
  });

async function sendAll({ client }: TestProgram): Promise<string[]> {
  const destinations = Array.from({ length: COUNT }, (_, i) => `+39333${String(i).padStart(6, '0')}`);
  const { results } = await client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Through the crash' }] });
  return results.flatMap(({ id }) => id ?? []);
}

const untilTaken = ({ smsc }: TestProgram, count: number) =>
  until(`${count} submits`, () => smsc.ledger.counts().submits >= count);

/** Waits until every message has ended; returns the records by status. */
async function untilEnded({ client }: TestProgram, ids: readonly string[]) {
  const records = await until('an end of all messages', async () => {
    const all = await client.statuses(ids);
    return all.every(({ deliveryStatus }) => deliveryStatus !== 'ACCEPTED') && all;
  });
  const by = Map.groupBy(records, ({ deliveryStatus }) => deliveryStatus);
  return { records, delivered: by.get('DELIVERED') ?? [], unknown: by.get('UNKNOWN') ?? [] };
}

test('workers killed in the middle lose nothing, send nothing twice, and list unknown outcomes', async () => {
  await using program = await startApi();
  const ids = await sendAll(program);
  const kills = [150, 400, 650];
  for (const submits of kills) {
    const worker = startWorkerProcess(program);
    await untilTaken(program, submits);
    await worker.kill();
  }
  const last = startWorkerProcess(program);
  try {
    const { records, delivered, unknown } = await untilEnded(program, ids);
    expect(records.map(({ messageId }) => messageId)).toEqual(ids);
    expect(delivered.length + unknown.length).toBe(COUNT);
    expect(unknown.length).toBeLessThanOrEqual(kills.length * WINDOW);

    const taken = listTaken(program.smsc).map(({ destination }) => `+${destination}`);
    expect(new Set(taken).size).toBe(taken.length);
    const known = new Set(taken);
    expect(delivered.filter(({ destination }) => !known.has(destination))).toEqual([]);

    const { rows } = await program.pool.query('SELECT message_id AS id FROM unknown_outcome');
    expect(rows.map(({ id }) => id).toSorted()).toEqual(unknown.map(({ messageId }) => messageId).toSorted());
  } finally {
    await last.kill();
  }
});

test('a worker stopped in the middle exits with 0 and leaves no outcome unknown', async () => {
  await using program = await startApi();
  const ids = await sendAll(program);
  const first = startWorkerProcess(program);
  await untilTaken(program, 300);
  expect(await first.stop()).toBe(0);
  const second = startWorkerProcess(program);
  try {
    const { delivered, unknown } = await untilEnded(program, ids);
    expect([delivered.length, unknown.length]).toEqual([COUNT, 0]);
    expect(program.smsc.ledger.counts().submits).toBe(COUNT);
  } finally {
    await second.kill();
  }
});
