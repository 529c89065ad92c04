import { expect, test } from 'vitest';
import { createAccount } from '../../src/operate/account-commands.ts';
import type { SandboxSmsc } from '../../src/sandbox/smsc.ts';
import type { Client } from '../support/client.ts';
import { startTestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const LONG = 'x'.repeat(300);

async function sendMany(client: Client, count: number, prefix: string, body = 'Hello'): Promise<string[]> {
  const destinations = Array.from({ length: count }, (_, i) => `+${prefix}${String(i).padStart(6, '0')}`);
  const { accepted, results } = await client.bulk({ messages: [{ destinations, sender: 'Acme', body }] });
  expect(accepted).toBe(count);
  return results.flatMap(({ id }) => id ?? []);
}

const untilTaken = (smsc: SandboxSmsc, count: number) =>
  until(`${count} parts`, () => smsc.ledger.counts().accepted >= count);
const untilSessions = (smsc: SandboxSmsc, count: number) =>
  until(`${count} binds`, () => smsc.sessions().filter(({ mode }) => mode !== null).length === count);

/** Measures the rate in parts per second until `count` more parts were taken. */
async function rateOfNext(smsc: SandboxSmsc, count: number): Promise<number> {
  const [begun, start] = [smsc.ledger.counts().accepted, performance.now()];
  await untilTaken(smsc, begun + count);
  return ((smsc.ledger.counts().accepted - begun) * 1000) / (performance.now() - start);
}

/**
 * Waits until `count` consecutive parts came at the agreed rate. The machine may stall a process at any time, so a
 * single slow stretch, or the fast one after it, proves nothing; a rate that is truly wrong stays wrong.
 */
const untilRate = (smsc: SandboxSmsc, tps: number, count: number) =>
  until(
    `${count} parts at ${tps} a second`,
    async () => Math.abs((await rateOfNext(smsc, count)) / tps - 1) < 0.1,
    30_000,
  );

test('two workers together keep the agreed rate in parts, and one continues at the full rate when the other dies', async () => {
  const tps = 200;
  await using program = await startTestProgram({
    roles: { worker: false },
    carriers: { main: { settings: { window: 100, tps } } },
  });
  const { smsc, client } = program;
  const workers = [startWorkerProcess(program), startWorkerProcess(program)];
  try {
    await untilSessions(smsc, 2);
    await sendMany(client, 6000, '39333', LONG);
    await untilTaken(smsc, 200);
    await untilRate(smsc, tps, 600);
    expect(new Set(smsc.ledger.submits().map(({ session }) => session)).size).toBe(2);

    await workers[0]?.kill();
    await untilRate(smsc, tps, 400);
  } finally {
    for (const worker of workers) await worker.kill();
  }
});

test('the parts of a long message are sent in order and once, even if they are throttled now and then', async () => {
  await using program = await startTestProgram({
    carriers: { main: { settings: { throttlePauseMs: 20 }, script: { tps: 40 } } },
  });
  const ids = await sendMany(program.client, 60, '39333', 'y'.repeat(600));
  await program.client.untilAll(ids, 'DELIVERED');
  const { ledger } = program.smsc;
  expect(ledger.answers()['ESME_RTHROTTLED']).toBeGreaterThan(0);
  const parts = Map.groupBy(
    ledger.submits().filter(({ status }) => status === 'ESME_ROK'),
    ({ destination }) => destination,
  );
  expect(parts.size).toBe(60);
  for (const list of parts.values()) expect(list.map(({ concat }) => concat?.seq)).toEqual([1, 2, 3, 4]);
});

test("with 50,000 messages of one account queued, another's single send goes at once, and its bulk send in turn", async () => {
  const tps = 100;
  await using program = await startTestProgram({ carriers: { main: { settings: { tps } } } });
  const { smsc, client: big } = program;
  const small = program.clientOf((await createAccount(program.pool, { name: 'Small', plan: 'unlimited' })).apiKey);
  for (const prefix of ['39331', '39332', '39333', '39334', '39335']) await sendMany(big, 10_000, prefix);

  for (let i = 0; i < 5; i++) {
    const { messageId } = await small.send({ phoneNumber: `+39340000000${i}`, message: 'Code 1234' });
    await small.untilStatus(messageId ?? '', 'DELIVERED');
  }

  // In the order of the queue these five would be sent after 500 seconds.
  expect(smsc.ledger.counts().accepted).toBeLessThan(60 * tps);

  await sendMany(small, 20, '39341');
  // Counted from the response on: what is sent while the request is under way depends on the machine.
  const before = smsc.ledger.counts().accepted;
  const isOwn = ({ destination }: { destination: string }) => destination.startsWith('39341');
  await until('its bulk is out', () => smsc.ledger.submits().filter(isOwn).length === 20);
  // A turn is a second's worth of messages. At most the rest of the current turn, the next one, and one more go before
  // it.
  expect(smsc.ledger.submits().findLastIndex(isOwn) - before).toBeLessThan(2.5 * tps + 20);
});
