import { afterAll, beforeAll, expect, test } from 'vitest';
import { findConnection, notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { deleteRoutesOf, insertRoute } from '../../src/routing/routes.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const CARRIERS = {
  world: {},
  italy: { prefix: '39' },
  backup: { prefix: '39', priority: 200 },
  mobile: { prefix: '3933' },
};
type Name = keyof typeof CARRIERS;

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram({ carriers: CARRIERS });
});
afterAll(() => program[Symbol.asyncDispose]());

/** Sends to the number; returns the carrier that received it. */
async function carrierOf(phoneNumber: string): Promise<string[]> {
  const { client } = program;
  const { messageId } = await client.send({ phoneNumber, message: 'Which way?' });
  await client.untilStatus(messageId ?? '', 'DELIVERED');
  return Object.keys(CARRIERS).filter((name) =>
    program
      .carrier(name)
      .ledger.submits()
      .some(({ destination }) => `+${destination}` === phoneNumber),
  );
}

async function changeRoute(name: Name, priority: number): Promise<void> {
  const connection = await findConnection(program.pool, { name });
  if (!connection) throw new Error(`no connection ${name}`);
  await insertRoute(program.pool, { channel: 'SMS', prefix: '39', connectionId: connection.id, priority });
  await notifyRoutingChange(program.pool);
}

test('the longest prefix decides, then the lowest priority number', async () => {
  expect(await carrierOf('+393331234567')).toEqual(['mobile']);
  expect(await carrierOf('+390612345678')).toEqual(['italy']);
  expect(await carrierOf('+447700900123')).toEqual(['world']);
});

test('a change takes effect at once in the running program', async () => {
  await changeRoute('backup', 10);
  let tries = 0;
  const carriers = await until('the change', async () => {
    const [name] = await carrierOf(`+3906123456${50 + tries++}`);
    return name === 'backup' && name;
  });
  expect(carriers).toBe('backup');
});

test('messages without a route are refused and not stored, the others are accepted', async () => {
  const { client, pool } = program;
  const world = await findConnection(pool, { name: 'world' });
  await deleteRoutesOf(pool, { connectionId: world?.id ?? 0 });
  await notifyRoutingChange(pool);
  const destinations = ['+447700900124', '+393331234568'];
  const results = await until('the change', async () => {
    const answer = await client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
    return answer.accepted === 1 && answer.results;
  });
  expect(results).toMatchObject([
    { destination: '+447700900124', id: null, accepted: false, statusCode: 400 },
    { destination: '+393331234568', accepted: true, statusCode: 200 },
  ]);
});
