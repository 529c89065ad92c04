import { expect, onTestFinished, test } from 'vitest';
import { type SandboxAnswer, startServer } from '../../sandbox/http-server.ts';
import { createPoller } from './carrier.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings } from './settings.ts';

const SECRETS = parseHttpSmsSecrets({ apiKey: 'key', callbackToken: 'our-callback-token' });

/** Fetches events once, from the beginning, from a carrier with this response. */
async function pollOf(answer: SandboxAnswer) {
  const server = await startServer({ maxBytes: 1000, handle: () => answer });
  onTestFinished(server.close);
  const settings = parseHttpSmsSettings({
    baseUrl: server.url,
    request: { path: '/send' },
    receipts: { list: '/events', ids: ['/id'], state: '/state', states: { ok: 'DELIVERED' } },
    poll: { path: '/events?since={{cursor}}', cursor: '/next', start: '0' },
  });
  const poller = createPoller(settings, SECRETS, { callbackUrl: null });
  if (!poller) throw new Error('the settings poll');
  onTestFinished(() => poller.close());
  return poller.poll(null);
}

test('events and the cursor behind them are read, and a response without events moves nothing', async () => {
  const body = { events: [{ id: 'a', state: 'ok' }], next: 7 };
  expect(await pollOf({ status: 200, body })).toMatchObject({
    kind: 'events',
    receipts: [{ carrierIds: ['a'], state: 'DELIVERED' }],
    cursor: '7',
    hasMoved: true,
  });
  expect(await pollOf({ status: 200, body: {} })).toMatchObject({ kind: 'events', cursor: '0', hasMoved: false });
});

test.each<[string, SandboxAnswer]>([
  ['the page of a proxy', { status: 200, body: '<html>Back soon</html>' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1/' }, body: '' }],
  ['an error', { status: 500, body: { events: [], next: 9 } }],
  ['a response that is cut off', 'cut'],
])('%s is a failure, and no response without events', async (_, answer) => {
  expect(await pollOf(answer)).toMatchObject({ kind: 'failed' });
});

test('the cursor does not move past events of which there are too many to read', async () => {
  const events = Array.from({ length: 20_001 }, (_, n) => ({ id: n + 1, state: 'ok' }));
  expect(await pollOf({ status: 200, body: { events, next: 9 } })).toMatchObject({ kind: 'failed' });
});
