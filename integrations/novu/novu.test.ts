import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { createHeliographProvider } from './provider.mjs';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

type Envelope = { readonly type: string; readonly data: { readonly messageId: string } };

test('a notification is sent once, and its events are read as the statuses that Novu knows', async () => {
  const { client, account } = program;
  const provider = createHeliographProvider({ baseUrl: program.origin(), apiKey: account.apiKey, from: 'Acme' });
  await client.request('PUT', '/api/partner-gateway/v1/event-feed/settings', { body: { enabled: true } });
  const message = { to: '+393331234567', content: 'Hello', id: 'job-1' };
  const { id, date } = await provider.sendMessage(message);
  expect(new Date(date).getTime()).toBeGreaterThan(0);
  expect((await provider.sendMessage(message)).id).toBe(id);
  await client.untilStatus(id, 'DELIVERED');
  const { body } = await client.request('GET', '/api/partner-gateway/v1/event-feed?types=message.*&wait=25');
  const { events } = body as { events: Envelope[] };
  expect(events.length).toBeGreaterThan(1);
  expect(provider.getMessageId(events)).toEqual(events.map(() => id));
  const delivered = events.find(({ type }) => type === 'message.delivered');
  expect(provider.parseEventBody(delivered, id)).toMatchObject({ status: 'delivered', externalId: id, attempts: 1 });
  expect(provider.parseEventBody(delivered, 'another')).toBeUndefined();
});

test('a rejected message and a wrong key are errors with their reasons', async () => {
  const provider = (apiKey: string) => createHeliographProvider({ baseUrl: program.origin(), apiKey });
  await expect(provider('wrong').sendMessage({ to: '+393331234567', content: 'x' })).rejects.toThrow('401');
  await expect(provider(program.account.apiKey).sendMessage({ to: '+391', content: 'x' })).rejects.toThrow(
    /rejected the message|400/,
  );
});
