import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SandboxRequest, type SandboxServer, startServer } from '../../src/sandbox/http-server.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Person, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

const KEY = 'key-that-must-stay-secret';
/** Message of the browser about settings that the server rejects. */
const REFUSED = /\b400\b/;

let site: Site;
let operator: Person;
let server: SandboxServer;
let requests: SandboxRequest[] = [];
beforeAll(async () => {
  server = await startServer({
    maxBytes: 10_000,
    handle(request) {
      requests.push(request);
      return { status: 200, body: { state: 'fine', key: request.headers['x-api-key'] ?? '' } };
    },
  });
  site = await openSite({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } });
  operator = await site.operator();
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await server.close();
});

/** Opens the settings of a new connection over HTTP. */
async function openSettings() {
  requests = [];
  const window = await site.signIn(operator);
  await window.page.goto(site.url('/operator/connections/new'));
  await window.page.getByRole('radio', { name: /SMS over HTTP/ }).click();
  await window.page.getByRole('button', { name: 'Next' }).click();
  await window.page.getByRole('textbox', { name: 'Name' }).waitFor();
  return window;
}

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });

async function runTest(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: /^Run test/ }).click();
}

/** Goes back to the settings, where the field must have this error. */
async function backTo(page: Page, name: string, error: RegExp): Promise<void> {
  await page.getByText(error).first().waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  await page.getByText(error).first().waitFor();
  expect(await field(page, name).getAttribute('aria-invalid')).toBe('true');
}

test('a carrier over HTTP is described in JSON: bad JSON is refused at its field, and the test shows request and response', async () => {
  const window = await openSettings();
  const { page, watch } = window;
  watch.expect(REFUSED);
  await page.getByRole('combobox', { name: 'Carrier' }).waitFor();
  for (const name of ['API address', 'Account at the carrier', 'Parts per second', 'Concurrent requests'])
    await field(page, name).waitFor();
  for (const name of ['API key', 'Signing key', 'Callback token'])
    await page.getByLabel(name, { exact: true }).waitFor();
  await page.getByRole('button', { name: /more settings/ }).click();
  for (const name of ['Request', 'Response', 'Receipts', 'Inbound messages', 'Proof of callbacks', 'Polling'])
    await field(page, `${name} (JSON)`).waitFor();

  await field(page, 'Name').fill('web');
  await field(page, 'API address').fill(server.url);
  await page.getByLabel('API key', { exact: true }).fill(KEY);
  await field(page, 'Request (JSON)').fill('{ "path": "/send", ');
  await runTest(page);
  await backTo(page, 'Request (JSON)', /must be object/);

  const request = {
    path: '/send',
    headers: { 'X-Api-Key': '{{apiKey}}' },
    body: { to: '{{nobody}}', text: '{{text}}' },
  };
  await field(page, 'Request (JSON)').fill(JSON.stringify(request));
  await runTest(page);
  await backTo(page, 'Request (JSON)', /has no variable \{\{nobody\}\}/);
  expect(requests).toEqual([]);

  await field(page, 'Request (JSON)').fill(JSON.stringify({ ...request, body: { to: '{{to}}', text: '{{text}}' } }));
  await field(page, 'Path for checks').fill('/state');
  await runTest(page);
  const result = page.getByRole('status', { name: 'Test result' });
  await result.getByText('Connection successful.').waitFor();
  const shown = await textOf(result);
  for (const part of [`POST ${server.url}/send`, '"to":"+15005550006"', `GET ${server.url}/state`, '"state":"fine"'])
    expect(shown).toContain(part);
  expect(shown).toContain('<apiKey>');
  expect(await page.content()).not.toContain(KEY);
  expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  await checkPage(window, 'operator-http-test');

  await page.getByRole('button', { name: 'Add connection' }).click();
  await page.getByRole('heading', { name: '“web” added' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a preset asks for what its carrier needs at the field of it, and is tested the same way', async () => {
  const { page, watch } = await openSettings();
  watch.expect(REFUSED);
  await page.getByRole('combobox', { name: 'Carrier' }).selectOption({ label: 'Twilio' });
  await field(page, 'Name').fill('twilio');
  await field(page, 'API address').fill(server.url);
  await page.getByLabel('API key', { exact: true }).fill(KEY);
  await runTest(page);
  await backTo(page, 'Account at the carrier', /is required by the preset twilio/);

  await field(page, 'Account at the carrier').fill('AC42');
  await runTest(page);
  const result = page.getByRole('status', { name: 'Test result' });
  await result.getByText('Connection successful.').waitFor();
  const shown = await textOf(result);
  expect(shown).toContain(`POST ${server.url}/2010-04-01/Accounts/AC42/Messages.json`);
  expect(shown).toContain('To=%2B15005550006');
  expect(shown).not.toContain(Buffer.from(`AC42:${KEY}`).toString('base64'));
  expect(watch.problems()).toEqual([]);
});
