import { afterAll, beforeAll, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { OWN_PAGES, SESSION } from '../../test/support/http/session-stage.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';

let program: TestProgram;
let cookie: string;

beforeAll(async () => {
  program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  const { username, password } = program.account;
  const body = JSON.stringify({ username, password });
  const headers = { ...OWN_PAGES, 'content-type': 'application/json' };
  const answer = await fetch(`${program.origin()}${SESSION}`, { method: 'POST', headers, body });
  cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
});
afterAll(() => program[Symbol.asyncDispose]());

const get = (path: string, headers = {}) => fetch(`${program.origin()}${path}`, { headers: { cookie, ...headers } });

test('a browser of this machine signs in over plain HTTP', async () => {
  expect(cookie).toMatch(/^heliograph=/);
  expect((await get(SESSION)).status).toBe(200);
});

test('the live stream of the inbox needs only the cookie', async () => {
  const answer = await get(`${PG}/inbox/conversations/stream`, { accept: 'text/event-stream' });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('event: ready');
  await reader?.cancel();
});

test('files are uploaded by our pages, and displayed with only the cookie', async () => {
  const form = new FormData();
  const picture = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64');
  form.set('file', new Blob([picture], { type: 'image/gif' }), 'a.gif');
  const post = (headers: Record<string, string>) =>
    fetch(`${program.origin()}${PG}/media`, { method: 'POST', headers: { cookie, ...headers }, body: form });
  // A form of another site needs no leave to be sent.
  expect((await post({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  const made = (await (await post(OWN_PAGES)).json()) as { url: string };
  const { pathname } = new URL(made.url);
  const file = await get(pathname);
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/gif']);
  expect((await fetch(`${program.origin()}${pathname}`)).status).toBe(401);
});
