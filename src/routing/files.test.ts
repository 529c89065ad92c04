import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseRcsSettings } from '../channels/rcs/settings.ts';
import { parseWhatsappSettings } from '../channels/whatsapp/settings.ts';
import { startSandboxGraph } from '../sandbox/graph-server.ts';
import { type SandboxServer, startServer } from '../sandbox/http-server.ts';
import { rcsFiles, whatsappFiles } from './kind.ts';

let server: SandboxServer;
let called: string[] = [];
beforeAll(async () => {
  server = await startServer({
    maxBytes: 1000,
    handle({ path }) {
      called.push(path);
      if (path === '/file') return { status: 200, body: Buffer.from('twelve bytes') };
      return { status: path === '/busy' ? 503 : 404, body: '' };
    },
  });
});
afterAll(() => server.close());

const media = (more: object) => ({ id: null, url: null, mimeType: 'text/plain', fileName: 'a.txt', ...more });

test('files of RCS are fetched from the network’s own host and, by HTTPS, from public addresses only', async () => {
  const source = rcsFiles(parseRcsSettings({ baseUrl: server.url }));
  const ask = (url: string, maxBytes = 100) => source.fetch(media({ url }), maxBytes);
  expect(await ask(`${server.url}/file`)).toEqual({ ok: true, bytes: Buffer.from('twelve bytes') });
  expect(await ask(`${server.url}/file`, 5)).toMatchObject({ ok: false, retry: false });
  expect(await ask(`${server.url}/busy`)).toMatchObject({ ok: false, retry: true });
  expect(await ask(`${server.url}/gone`)).toMatchObject({ ok: false, retry: false });
  called = [];
  const { port } = new URL(server.url);
  for (const url of [
    `http://localhost:${port}/file`,
    `https://127.0.0.1:${port}/file`,
    'https://127.0.0.1/file',
    'https://[::1]/file',
    'https://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'nonsense',
  ])
    expect(await ask(url)).toMatchObject({ ok: false });
  expect(await source.fetch(media({}), 100)).toMatchObject({ ok: false, retry: false });
  expect(called).toEqual([]);
  await source.close();
});

test('files of WhatsApp are fetched by their id, and a missing one is not fetched again', async () => {
  const graph = await startSandboxGraph();
  const settings = parseWhatsappSettings({
    baseUrl: graph.baseUrl,
    wabaId: graph.wabaId,
    phoneNumberIds: graph.numbers.map(({ id }) => id),
  });
  const secrets = { accessToken: graph.accessToken, appSecret: graph.appSecret, verifyToken: 'v' };
  const source = whatsappFiles(settings, secrets);
  expect(await source.fetch(media({ id: '123456' }), 100)).toMatchObject({ ok: false, retry: false });
  expect(await source.fetch(media({}), 100)).toMatchObject({ ok: false, retry: false });
  await source.close();
  await graph.close();
  const late = whatsappFiles(settings, secrets);
  expect(await late.fetch(media({ id: '123456' }), 100)).toMatchObject({ ok: false, retry: true });
  await late.close();
});
