import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGuard } from '../core/outbound.ts';
import { probeConnection } from './supervise.ts';

test('a name that resolves to another address after it was checked is not dialled', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => void server.listen(0, '127.0.0.2', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const answers = [['127.0.0.1'], ['127.0.0.2']];
  const guard = createGuard({
    allowedBlocks: ['127.0.0.1/32'],
    ports: [port],
    resolve: () => Promise.resolve(answers.shift() ?? ['127.0.0.2']),
  });
  const settings = { baseUrl: `https://rebinding.example:${port}`, request: { path: '/send' } };
  const secret = JSON.stringify({ callbackToken: 'our-callback-token' });
  const { ok, steps } = await probeConnection({ kind: 'http', settings, secret }, { callbackUrl: null, guard });
  expect(ok).toBe(false);
  expect(steps.find(({ name }) => name === 'resolve')).toMatchObject({ ok: true, detail: '127.0.0.1' });
  expect(steps.find(({ name }) => name === 'connect')).toMatchObject({
    ok: false,
    detail: 'the host has a non-public address',
  });
  expect(connections).toBe(0);
});
