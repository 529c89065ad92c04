import { readdir, readFile, readlink } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { until } from '../../../test/support/until.ts';
import { openTemporaryFile } from '../storage.ts';
import type { App } from './app.ts';
import { createUploadGate, type FormBounds, MULTIPART_LIMITS, receiveForm } from './files.ts';
import { createServer } from './server.ts';

const BOUNDS: FormBounds = {
  fileBytes: 1_000_000,
  bodyBytes: 1_000_000,
  stallTimeoutMs: 1500,
  totalTimeoutMs: 6000,
  // The response is lost to a client that has not read it by then and still sends.
  drainTimeoutMs: 2500,
};
let app: App;
let port: number;
let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder('heliograph-receive-');
  app = createServer(apiDeps());
  app.register(multipart, { limits: { ...MULTIPART_LIMITS, fileSize: BOUNDS.fileBytes } });
  const gate = createUploadGate({ perAccount: 100 });
  app.post('/', (request) =>
    gate.run(1, async (upload) => {
      await using file = await openTemporaryFile(folder);
      const { fileName, fields } = await receiveForm(request, { file, bounds: BOUNDS, upload });
      const text = await readFile(`/proc/self/fd/${file.fd}`, 'utf8');
      return { fileName, fields: Object.fromEntries(fields), text };
    }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterAll(() => app.close());

const HEAD = 'content-disposition: form-data; name';
const FILE = `--x\r\n${HEAD}="file"; filename="a.csv"\r\n\r\n`;
const FIELD = `--x\r\n${HEAD}="limit"\r\n\r\n5\r\n`;

/**
 * Sends the body as it is given, piece by piece, and returns the bytes that came back: once the other side has ended
 * the connection, or, if the body has a length, with the first response.
 */
async function send(body: Iterable<string> | AsyncIterable<string>, length?: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise<void>((resolve) => socket.on('error', () => undefined).on('close', () => resolve()));
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
    if (length !== undefined && answer.endsWith('}')) socket.destroy();
  });
  const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${TYPE}\r\n${framing}\r\n\r\n`);
  const sending = async (): Promise<void> => {
    for await (const piece of body) {
      if (socket.destroyed) return;
      if (answer !== '') await delay(20);
      const size = Buffer.byteLength(piece).toString(16);
      const taken = socket.write(length === undefined ? `${size}\r\n${piece}\r\n` : piece);
      if (!taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    if (length === undefined) socket.write('0\r\n\r\n');
  };
  void sending();
  await closed;
  return answer;
}
const TYPE = 'content-type: multipart/form-data; boundary=x';
const statusOf = (answer: string): string => /^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 'silence';
const messageOf = (answer: string): string => /"message":"([^"]*)"/.exec(answer)?.[1] ?? answer;

test('a form is parsed, in whatever pieces it arrives', async () => {
  const whole = `${FIELD}${FILE}phone\r\n+39\r\n--x--\r\n`;
  for (const pieces of [[whole], [...whole]]) {
    const answer = await send(pieces, whole.length);
    expect(answer).toContain('{"fileName":"a.csv","fields":{"limit":"5"},"text":"phone\\r\\n+39"}');
  }
});

function* endless(begin: string, piece: string) {
  yield begin;
  for (;;) yield piece;
}
async function* slow(begin: string, piece: string) {
  yield begin;
  for (;;) {
    await delay(50);
    yield piece;
  }
}
async function* stalled(begin: string) {
  yield begin;
  await delay(600_000, undefined, { ref: false });
}

const LONG = 'x'.repeat(60_000);
const ENDLESS: [what: string, body: () => Iterable<string> | AsyncIterable<string>, status: string][] = [
  ['a file without end', () => endless(FILE, LONG), '413'],
  ['a field without end', () => endless(`--x\r\n${HEAD}="limit"\r\n\r\n`, LONG), '413'],
  ['the head of a part without end', () => endless(`--x\r\n${HEAD}="`, LONG), '413'],
  ['parts without end', () => endless('\r\n', FIELD.repeat(100)), '413'],
  ['much after the end', () => endless(`${FILE}x\r\n--x--\r\n`, LONG), '413'],
  ['much before the first part', () => endless('-', LONG), '413'],
  ['a file of which no more comes', () => stalled(`${FILE}phone`), '400'],
  ['a body of which nothing comes', () => stalled('-'), '400'],
  ['a file that comes too slowly', () => slow(FILE, 'x'), '400'],
];
test.concurrent.each(ENDLESS)('%s gets a response, and the connection is closed', async (_, body, status) => {
  const answer = await send(body());
  expect([statusOf(answer), messageOf(answer)]).toEqual([status, expect.any(String)]);
});

const BROKEN: [what: string, body: string][] = [
  ['nothing', ''],
  ['no boundary', 'phone'],
  ['a part that is cut short', `${FILE}phone`],
  ['a head that is cut short', `--x\r\n${HEAD}="file`],
  ['a part without a name', '--x\r\ncontent-type: text/csv\r\n\r\nx\r\n--x--\r\n'],
  ['no file', `${FIELD}--x--\r\n`],
  ['a file under another name', `--x\r\n${HEAD}="other"; filename="a"\r\n\r\nx\r\n--x--\r\n`],
  ['a field that is too long', `--x\r\n${HEAD}="limit"\r\n\r\n${'x'.repeat(70_000)}\r\n--x--\r\n`],
  ['a field called __proto__', `--x\r\n${HEAD}="__proto__"\r\n\r\nx\r\n${FILE}x\r\n--x--\r\n`],
];
test.each(BROKEN)('a form of %s is 400', async (_, body) => {
  const answer = await send([body], Buffer.byteLength(body));
  expect([statusOf(answer), messageOf(answer)]).toEqual(['400', expect.any(String)]);
});

test('a body that declares too large a size is rejected unread', async () => {
  expect(statusOf(await send([], 1_000_000_001))).toBe('413');
});

test('a client that disconnects in the middle ends its request too', async () => {
  const ended = new Promise((resolve) => app.server.once('request', ({ socket }) => socket.once('close', resolve)));
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${TYPE}\r\ncontent-length: 9999\r\n\r\n${FILE}x`);
  await new Promise((resolve) => app.server.once('request', resolve));
  socket.destroy();
  await ended;
  await until('no file that is open', async () => (await openFiles()) === 0);
});

/** Counts the open files without a name of this process. */
async function openFiles(): Promise<number> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(folder)).length;
}
