import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startTestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { startWorkerProcess } from '../../test/support/worker-process.ts';
import { many, one, sql } from '../core/db/query.ts';
import { insertNumber } from '../messages/inbound-store.ts';

const PERSON = '393331234567';
const OURS = '390212345678';
const KILLS = 5;
/** Each worker is killed this long after two more STOPs: before it has stored them, answered them, or sent the answer. */
const KILL_AFTER_MS = [5, 20, 60, 150, 400];

test('ten STOPs in a row while workers are killed get one answer', async () => {
  await using program = await startTestProgram({ roles: { worker: false } });
  const { pool, smsc, account, client } = program;
  const { id: connectionId } = await one<{ id: number }>(pool, sql`SELECT id FROM connection WHERE name = 'main'`);
  await insertNumber(pool, { connectionId, number: '*', accountId: account.accountId });
  const answers = [{ to: 'STOP', language: '*', text: 'No more messages.' }];
  const { status } = await client.request('PUT', '/api/partner-gateway/v1/consent/settings', { body: { answers } });
  expect(status).toBe(200);
  const isBound = (): boolean => smsc.sessions().some(({ mode }) => mode !== null);
  const stops: Promise<unknown>[] = [];
  for (let n = 0; n < KILLS; n++) {
    const worker = startWorkerProcess(program);
    await until('a bind', isBound);
    for (let i = 0; i < 2; i++)
      stops.push(smsc.injectMo({ source: PERSON, destination: OURS, text: 'STOP', systemId: 'main' }));
    await delay(KILL_AFTER_MS[n] ?? 0);
    await worker.kill();
    await until('the end of the bind', () => !isBound());
  }
  const last = startWorkerProcess(program);
  await Promise.all(stops);
  await until(
    'no job left',
    async () => (await many(pool, sql`SELECT FROM job WHERE kind = 'inbox.consent-answer'`)).length === 0,
  );
  await until('no message waits', async () => (await many(pool, sql`SELECT FROM dispatch_chunk`)).length === 0);
  await last.stop();
  const sent = await many<{ body: string }>(pool, sql`SELECT body FROM message WHERE destination = ${`+${PERSON}`}`);
  expect(sent).toEqual([{ body: 'No more messages.' }]);
  const taken = smsc.ledger.submits().filter(({ destination }) => destination.endsWith(PERSON));
  // A worker that dies while it writes leaves the outcome unknown, and nothing is written twice.
  const unknown = await many(pool, sql`SELECT FROM unknown_outcome`);
  expect(taken.length).toBeLessThanOrEqual(1);
  expect(taken.length + unknown.length).toBeGreaterThan(0);
});
