import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { silentLog } from '../core/log.ts';
import { createGuard, createGuardedFetch } from '../core/outbound.ts';
import { createWeb } from './network.ts';
import { copyPicture } from './profiles.ts';

const GIF = Buffer.from('GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;', 'latin1');
const ANSWERS: Readonly<Record<string, Buffer>> = {
  '/picture': GIF,
  '/page': Buffer.from('<html>'),
  '/too-long': Buffer.alloc(1_100_000, 'x'),
};

const server = createServer({ cert: TEST_CERT, key: TEST_KEY }, ({ url = '' }, response) => {
  const octets = ANSWERS[url];
  response.writeHead(octets ? 200 : 404).end(octets);
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

/** Copies a picture of the server, from addresses that the guard allows. */
const copy = (path: string, allowedBlocks: readonly string[] = ['127.0.0.0/8']) => {
  const guard = createGuard({ allowedBlocks, ports: [port] });
  const fetchPicture = createGuardedFetch({ guard, ca: TEST_CERT, maxAnswerBytes: 1024 * 1024 });
  const caller = { web: createWeb(null), simulated: null };
  const url = `https://localhost:${port}${path}`;
  return copyPicture({ outbound: { fetchPicture }, log: silentLog }, caller, { accountId: 1, url });
};

test('a picture is encoded again as JPEG', async () => {
  const picture = await copy('/picture');
  expect(picture?.subarray(0, 3).toString('hex')).toBe('ffd8ff');
});

test('what is no picture, is missing, too long, or in our own network, is left out', async () => {
  expect(await copy('/page')).toBeNull();
  expect(await copy('/missing')).toBeNull();
  expect(await copy('/too-long')).toBeNull();
  expect(await copy('/picture', [])).toBeNull();
});
