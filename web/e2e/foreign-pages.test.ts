import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { launchBrowser } from './browser.ts';

const PG = '/api/partner-gateway/v1';

/** A request as it reached the gateway, and its response. */
type Seen = { readonly what: string; readonly status: number; readonly hasPassword: boolean };

let program: TestProgram;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  [program, browser] = await Promise.all([startTestProgram({ carriers: {} }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await program[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const context = await browser.newContext();
  page = await context.newPage();
  return () => context.close();
});

async function serve(listener: RequestListener): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
  };
  return { port, [Symbol.asyncDispose]: stop };
}

/**
 * Stands before the gateway, passes everything on as it is, and notes it. With `challenge`, 401 asks for a password, as
 * an older version or a proxy may: this is how a browser comes to keep one.
 */
async function relay({ challenge }: { readonly challenge: boolean }) {
  const seen: Seen[] = [];
  const server = await serve((request, response) => {
    const { method = '', url = '', headers } = request;
    const onward = httpRequest(`${program.origin()}${url}`, { method, headers, setHost: false }, (answer) => {
      const { statusCode: status = 0 } = answer;
      seen.push({ what: `${method} ${url}`, status, hasPassword: headers.authorization !== undefined });
      if (challenge && status === 401) response.setHeader('www-authenticate', 'Basic realm="old"');
      response.writeHead(status, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  return { ...server, seen, url: `http://127.0.0.1:${server.port}` };
}

/** A page of another site: `localhost` is one for pages and services at `127.0.0.1`. */
async function evilSite() {
  const server = await serve((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<title>Kittens</title>');
  });
  return { ...server, url: `http://localhost:${server.port}` };
}

/** The address with the owner's name and password, as a person types it instead of filling in the dialog. */
function withPassword(url: string): string {
  const address = new URL(url);
  address.username = program.account.username;
  address.password = program.account.password;
  return address.href;
}

const keyId = async (): Promise<number> =>
  ((await program.client.request('GET', `${PG}/authentication`)).body as { data: { id: number }[] }).data[0]?.id ?? 0;

/** Sends what a page may send to other sites without asking: requests without a body, and files. */
const attack = (target: string, rotate: string): Promise<void> =>
  page.evaluate(
    async ([to, path, upload]) => {
      const send = (url: string, init: RequestInit) =>
        fetch(url, { ...init, mode: 'no-cors', credentials: 'include' }).catch(() => undefined);
      const file = new FormData();
      file.append('file', new Blob(['phoneNumber,lastName\n+393331234567,FROM EVIL PAGE\n']), 'contacts.csv');
      await send(`${to}${path}`, {});
      await send(`${to}${path}/rotate`, { method: 'POST' });
      await send(`${to}${upload}`, { method: 'POST', body: file });
    },
    [target, rotate, `${PG}/contacts/upload`] as const,
  );

/** Sends a form from the page, as if a person had clicked. */
async function submitForm(action: string): Promise<void> {
  await page.evaluate((url) => {
    const form = document.createElement('form');
    Object.assign(form, { method: 'POST', action: url });
    document.body.append(form);
    form.submit();
  }, action);
  await page.waitForURL(action);
}

test('a page of another site changes nothing, although the browser adds a password that it has kept', async () => {
  await using gateway = await relay({ challenge: true });
  await using evil = await evilSite();
  const contacts = `${gateway.url}${PG}/contacts`;
  const id = await keyId();
  expect((await page.goto(withPassword(contacts)))?.status(), 'the person is in').toBe(200);
  await page.goto(evil.url);
  await attack(gateway.url, `${PG}/authentication/${id}`);
  await submitForm(`${gateway.url}${PG}/authentication/${id}/rotate`);

  const attacks = gateway.seen.filter(({ what }) => what.startsWith('POST'));
  expect(attacks).toEqual([
    { what: `POST ${PG}/authentication/${id}/rotate`, status: 403, hasPassword: true },
    { what: `POST ${PG}/contacts/upload`, status: 403, hasPassword: true },
    { what: `POST ${PG}/authentication/${id}/rotate`, status: 403, hasPassword: true },
  ]);
  const { status, body } = await program.client.request('GET', `${PG}/contacts`);
  expect([status, (body as { total: number }).total], 'the key works, and there is no contact').toEqual([200, 0]);
});

test('a browser never learns a password of the API: it is not asked for one', async () => {
  await using gateway = await relay({ challenge: false });
  await using evil = await evilSite();
  expect((await page.goto(withPassword(`${gateway.url}${PG}/contacts`)))?.status()).toBe(401);
  await page.goto(evil.url);
  await attack(gateway.url, `${PG}/authentication/${await keyId()}`);
  expect(gateway.seen.length).toBeGreaterThan(3);
  expect(gateway.seen.filter(({ hasPassword, status }) => hasPassword || status < 400)).toEqual([]);
});
