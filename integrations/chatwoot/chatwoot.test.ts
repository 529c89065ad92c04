import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../test/support/http/free-port.ts';
import { connectGraph } from '../../test/support/networks.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';

const PERSON = '+393331234567';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
type Message = {
  content: string;
  source_id: string;
  files: number;
  status?: string;
};

const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

/** A stand-in for Chatwoot's API: contacts, conversations and messages of one inbox. The answers to some are lost. */
async function startChatwoot() {
  const messages: Message[] = [];
  const ticks: { id: string; status: string }[] = [];
  let lost = 0;
  const server = createServer((request, response) => void handle(request, response));
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const answer = (value: object) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const path = `${request.method} ${request.url}`;
    expect(request.headers['api_access_token']).toBe('chatwoot-token');
    if (path === 'POST /api/v1/accounts/1/contacts') return answer({ payload: { contact: { id: 5 } } });
    if (path === 'POST /api/v1/accounts/1/conversations') return answer({ id: 9 });
    if (path === 'GET /api/v1/accounts/1/conversations/9/messages') return answer({ payload: messages });
    if (path === 'POST /api/v1/accounts/1/conversations/9/messages') {
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const form = await new Response(body, { headers }).formData();
      messages.push({
        content: textOf(form, 'content'),
        source_id: textOf(form, 'source_id'),
        files: form.getAll('attachments[]').length,
      });
      if (lost > 0) {
        lost--;
        return void response.destroy();
      }
      return answer({ id: messages.length });
    }
    const [, id] = /^PATCH .*\/conversations\/9\/messages\/(\d+)$/.exec(path) ?? [];
    if (id === undefined) return void response.writeHead(404).end('{}');
    ticks.push({ id, ...(JSON.parse(body.toString()) as { status: string }) });
    return answer({});
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, messages, ticks, loseNext: () => lost++, close: () => server.close() };
}

let program: TestProgram;
let bridge: ChildProcess | undefined;
const chatwoot = await startChatwoot();
beforeAll(async () => {
  program = await startTestProgram({ carriers: {} });
});
afterAll(async () => {
  bridge?.kill('SIGKILL');
  chatwoot.close();
  await program[Symbol.asyncDispose]();
});

test('messages and files go both ways once, with their ticks, although answers are lost', async () => {
  const { graph } = await connectGraph(program);
  await until('the handshake', () =>
    graph.verifyCallback(`${program.origin()}/api/callbacks/whatsapp/meta`, 'verify-me'),
  );
  const port = await freePort();
  const storeFile = join(await temporaryFolder('heliograph-bridge-'), 'store.json');
  // A place that the feed does not have: the bridge reads it from its beginning.
  await writeFile(storeFile, JSON.stringify({ cursor: 'A'.repeat(24), conversations: {}, sent: {} }));
  bridge = spawn(process.execPath, ['integrations/chatwoot/bridge.mjs'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      BASE_URL: program.origin(),
      API_KEY: program.account.apiKey,
      CHATWOOT_URL: chatwoot.url,
      CHATWOOT_TOKEN: 'chatwoot-token',
      CHATWOOT_ACCOUNT: '1',
      CHATWOOT_INBOX: '7',
      WEBHOOK_TOKEN: 'word',
      PORT: String(port),
      STORE: storeFile,
    },
  });
  await until('the feed', async () => {
    const { body } = await program.client.request('GET', '/api/partner-gateway/v1/event-feed/settings');
    return (body as { enabled: boolean }).enabled;
  });
  chatwoot.loseNext();
  await graph.injectInbound({ from: PERSON, text: 'Is this the right part?' });
  await graph.injectInbound({ from: PERSON, type: 'image', file: { bytes: PNG, mimeType: 'image/png' } });
  const lost = { id: '1234', mime_type: 'image/png', caption: 'It looks like this' };
  await graph.injectInbound({ from: PERSON, type: 'image', content: lost });
  for (const text of ['Hello?', 'Hello?']) await graph.injectInbound({ from: PERSON, text });
  await until('all messages', () => chatwoot.messages.length >= 5);
  expect(chatwoot.messages.map(({ content, files }) => [content, files])).toEqual([
    ['Is this the right part?', 0],
    ['', 1],
    ['It looks like this\r\n[The file is not available: file.png]', 0],
    ['Hello?', 0],
    ['Hello?', 0],
  ]);

  const written = {
    event: 'message_created',
    message_type: 'outgoing',
    private: false,
    id: 21,
    content: 'Yes, it is',
    inbox: { id: 7 },
    conversation: { id: 9 },
  };
  const post = async (path: string, body: object): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body) })).status;
  expect(await post('/chatwoot/wrong', written)).toBe(404);
  expect(await post('/chatwoot/word', { ...written, private: true })).toBe(200);
  expect(await post('/chatwoot/word', written)).toBe(200);
  expect(await post('/chatwoot/word', written)).toBe(200);
  await until('a tick', () => chatwoot.ticks.length > 0);
  expect(chatwoot.ticks[0]).toMatchObject({ id: '21', status: 'delivered' });
  expect(graph.ledger.messages().map(({ content }) => content)).toMatchObject([{ body: 'Yes, it is' }]);
  await graph.close();
});
