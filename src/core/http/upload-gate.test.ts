import { type AddressInfo, connect, type Socket } from 'node:net';
import multipart from '@fastify/multipart';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { openTemporaryFile } from '../storage.ts';
import {
  createUploadGate,
  formBounds,
  MULTIPART_LIMITS,
  type Place,
  receiveForm,
  type UploadGateOptions,
} from './files.ts';
import { createServer } from './server.ts';

const SECOND_OF_BYTES = 32 * 1024;

/** A gate whose clock the test moves, and whose uploads receive and process until the test ends them. */
function watched(options: Partial<UploadGateOptions> = {}) {
  let time = 0;
  const gate = createUploadGate({ checkMs: 5, patienceMs: 60_000, now: () => time, ...options });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  async function upload(accountId: number) {
    const arrived = Promise.withResolvers<void>();
    const processed = Promise.withResolvers<void>();
    const began = Promise.withResolvers<Place>();
    const ended = gate.run(accountId, async ({ receive }) => {
      await receive((place) => {
        began.resolve(place);
        place.signal.addEventListener('abort', () => arrived.reject(place.signal.reason));
        return arrived.promise;
      });
      await processed.promise;
    });
    ended.catch(() => undefined);
    await settled();
    return { began: began.promise, ended, arrive: arrived.resolve, finish: processed.resolve };
  }

  const uploads = (accounts: readonly number[]) => Promise.all(accounts.map(upload));
  return { upload, uploads, advance: (ms: number) => (time += ms), settled };
}

const EIGHT_BY_FOUR = [1, 1, 2, 2, 3, 3, 4, 4];
const EIGHT_BY_EIGHT = [1, 2, 3, 4, 5, 6, 7, 8];

/** Returns the state of an upload: the code of its error, or not ended yet. */
const stateOf = ({ ended }: { ended: Promise<void> }): Promise<string> =>
  Promise.race([
    ended.then(() => 'done').catch((error: { code?: string }) => error.code ?? 'another error'),
    new Promise<string>((resolve) => setImmediate(resolve, 'in progress')),
  ]);
const statesOf = (uploads: readonly { ended: Promise<void> }[]) => Promise.all(uploads.map(stateOf));
const inProgress = (count: number): string[] => Array.from({ length: count }, () => 'in progress');

test('an upload that drips gives its place to one that waits, the slowest first and no more than needed', async () => {
  const { uploads, upload, advance } = watched();
  const dripping = await uploads(EIGHT_BY_FOUR);
  for (const [i, { began }] of dripping.entries()) if (i !== 5) (await began).received(1);
  advance(1000);
  for (const [i, { began }] of dripping.entries()) if (i !== 5) (await began).received(1000 + i);
  advance(2000);
  const other = await upload(5);
  await other.began;
  expect(await statesOf(dripping)).toEqual([...inProgress(5), 'unavailable', ...inProgress(2)]);
});

test('uploads of different accounts whose bytes flow keep their places, and who waits in vain gets 503', async () => {
  const { uploads, upload, advance } = watched({ patienceMs: 100 });
  const flowing = await uploads(EIGHT_BY_EIGHT);
  advance(1900);
  for (const { began } of flowing) (await began).received(SECOND_OF_BYTES);
  advance(1000);
  const other = await upload(9);
  await expect(other.ended).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
  expect(await statesOf(flowing)).toEqual(inProgress(8));
});

test('an account with two places loses one to an account with none, even if its bytes flow', async () => {
  const { uploads, upload, advance } = watched();
  const flowing = await uploads([1, 2, 3, 4, 5, 6, 7, 7]);
  advance(1900);
  for (const { began } of flowing) (await began).received(10 * SECOND_OF_BYTES);
  const other = await upload(8);
  expect(await statesOf(flowing)).toEqual(inProgress(8));
  advance(1900);
  for (const { began } of flowing) (await began).received(10 * SECOND_OF_BYTES);
  advance(200);
  await other.began;
  expect(await statesOf(flowing)).toEqual([...inProgress(6), 'unavailable', 'in progress']);
});

test('a body that has arrived holds no place while it is processed', async () => {
  const { uploads, upload } = watched();
  const first = await uploads(EIGHT_BY_FOUR);
  for (const { arrive } of first) arrive();
  const other = await upload(5);
  await other.began;
  expect(await statesOf(first)).toEqual(inProgress(8));
});

test('an account has two uploads in progress at most, and the next one when one has ended', async () => {
  const { uploads, upload } = watched();
  const [first] = await uploads([1, 1]);
  expect(await stateOf(await upload(1))).toBe('rate_limited');
  first?.arrive();
  expect(await stateOf(await upload(1))).toBe('rate_limited');
  first?.finish();
  await first?.ended;
  expect(await stateOf(await upload(1))).toBe('in progress');
});

test('eight sockets of four accounts on which nothing comes do not turn away the form of another account', async () => {
  const folder = await temporaryFolder('heliograph-gate-');
  const gate = createUploadGate({ graceMs: 200, patienceMs: 60_000, checkMs: 20 });
  const bounds = formBounds(1_000_000);
  const app = createServer(apiDeps());
  app.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: bounds.fileBytes } });
  app.post('/:accountId', (request) =>
    gate.run(Number((request.params as { accountId: string }).accountId), async (upload) => {
      await using file = await openTemporaryFile(folder);
      return await receiveForm(request, { file, bounds, upload });
    }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const sockets: Socket[] = [];
  function post(accountId: number, sent: string, length = sent.length): Promise<string> {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    sockets.push(socket);
    const type = 'content-type: multipart/form-data; boundary=x';
    socket.write(`POST /${accountId} HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: ${length}\r\n\r\n${sent}`);
    return new Promise((resolve) => {
      socket.once('data', (text: string) => resolve(text.slice(9, 12))).once('error', () => resolve('closed'));
    });
  }
  const form = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nphone\r\n--x--\r\n';
  const answers: string[] = [];
  for (const accountId of EIGHT_BY_FOUR) void post(accountId, '--x', 1000).then((status) => answers.push(status));
  expect(await post(5, form)).toBe('200');
  expect(answers.every((status) => status === '503')).toBe(true);
  expect(answers.length).toBeLessThanOrEqual(1);
  for (const socket of sockets) socket.destroy();
  await app.close();
});
