import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../sandbox/http-server.ts';
import { showExchange } from './carrier.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings } from './settings.ts';

/** Each character is written differently by JSON, queries, forms and URLs. */
const KEY = `k!e'y "(1)~*\\2`;
const TOKEN = `t!o'k(3)~*&4`;

test('secrets are hidden in a shown request and response, however the place encodes them', async () => {
  const server = await startServer({
    maxBytes: 1000,
    handle: ({ path, query }) => ({ status: 200, body: `${path} ${query}` }),
  });
  onTestFinished(server.close);
  const callbackUrl = new URL('https://us.example.com/cb');
  callbackUrl.searchParams.set('token', TOKEN);
  callbackUrl.username = 'carrier';
  callbackUrl.password = TOKEN;
  const secrets = parseHttpSmsSecrets({ apiKey: KEY, callbackToken: TOKEN });
  const values = { key: '{{apiKey}}', callback: '{{callbackUrl}}', token: '{{callbackToken}}' };
  const places = { path: '/{{apiKey}}', query: values, headers: { 'X-Key': '{{apiKey}}' }, auth: 'basic' };
  for (const format of ['json', 'form']) {
    const request = { ...places, username: '{{account}}', format, body: values };
    const settings = { baseUrl: server.url, account: 'acme', probePath: '/{{apiKey}}', request };
    const shown = await showExchange(parseHttpSmsSettings(settings), secrets, { callbackUrl: callbackUrl.href });
    const text = decode(`${shown.request}\n${shown.answer}`);
    for (const secret of [KEY, TOKEN, 'k!e', 't!o']) expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(`acme:${KEY}`).toString('base64'));
    expect(shown.request).toContain('<apiKey>');
    expect(shown.answer).toContain('<apiKey>');
  }
});

test('a secret of one letter is hidden where it stands alone, and words that have it stay readable', async () => {
  const server = await startServer({ maxBytes: 1000, handle: () => ({ status: 403, body: 'p is no password' }) });
  onTestFinished(server.close);
  const secrets = parseHttpSmsSecrets({ apiKey: 'p', callbackToken: TOKEN });
  const request = { path: '/send', query: { user: 'support', key: '{{apiKey}}' } };
  const settings = parseHttpSmsSettings({ baseUrl: server.url, probePath: '/ping', request });
  const shown = await showExchange(settings, secrets, { callbackUrl: null });
  expect(shown.request).toContain('user=support&key=<apiKey>');
  expect(shown.answer).toContain('/ping\n403\n\n<apiKey> is no password');
});

/** Undoes the encodings of a URL twice: one may contain another. */
function decode(text: string): string {
  const once = (given: string): string =>
    given.replaceAll('+', ' ').replace(/%[0-9A-F]{2}/gi, (octet) => String.fromCharCode(parseInt(octet.slice(1), 16)));
  return once(once(text));
}
