import { createHttpClient, type HttpAnswer, type HttpRequest } from '../http/client.ts';
import type { HttpSmsContext } from './carrier.ts';
import { compileRequests } from './request.ts';
import { type HttpSmsSecrets, type HttpSmsSettings, resolveSettings } from './settings.ts';
import { sharedValues, valuesOf } from './values.ts';

const SHOWN_LENGTH = 1000;

/** A message of which only the request is shown. */
const SAMPLE = {
  messageId: '00000000-0000-7000-8000-000000000000',
  destination: '+15005550006',
  sender: 'ACME',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
} as const;

/**
 * Returns the request of a sample message, which is not sent, and the answer to the request by which the carrier is found;
 * both with secrets hidden. Never rejects.
 */
export async function showExchange(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  { callbackUrl, lookup, isAllowed }: HttpSmsContext,
): Promise<{ request: string; answer: string }> {
  const resolved = resolveSettings(settings);
  const shared = sharedValues(resolved, secrets, callbackUrl);
  const requests = compileRequests(resolved, secrets);
  const http = createHttpClient({
    connections: 1,
    connectTimeoutMs: resolved.connectTimeoutSeconds * 1000,
    timeoutMs: Math.min(10, resolved.submitTimeoutSeconds) * 1000,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const hide = hider(secrets, resolved.account ?? '', resolved.request.username);
  const probe = requests.probe(shared);
  const answer = await http.request(probe);
  await http.close();
  const sent = requests.send(valuesOf(shared, resolved.request, SAMPLE, Date.now()));
  return {
    request: hide(sent === null ? 'a header of the request would have characters that it cannot have' : show(sent)),
    answer: hide(`${probe.method} ${probe.origin}${probe.path}\n${showAnswer(answer)}`),
  };
}

const show = ({ method, origin, path, headers, body }: HttpRequest): string =>
  [
    `${method} ${origin}${path}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['', String(body)]),
  ].join('\n');

const showAnswer = (answer: HttpAnswer): string =>
  answer.kind === 'failed'
    ? answer.reason
    : `${answer.status}\n\n${answer.body.toString('utf8').replaceAll('\0', '').slice(0, SHOWN_LENGTH)}`.trim();

/** Replaces each secret by its name, in every form in which a request can have it. */
function hider(secrets: HttpSmsSecrets, account: string, username: string): (text: string) => string {
  const user = username.replaceAll('{{account}}', account);
  const forms = Object.entries(secrets)
    .filter(([, value]) => value !== '')
    .flatMap(([name, value]) => formsOf(user, value).map((form) => [name, form] as const))
    // A form may contain another one.
    .toSorted(([, a], [, b]) => b.length - a.length);
  return (text) => forms.reduce((shown, [name, form]) => shown.replaceAll(form, `<${name}>`), text);
}

/** A secret as texts, queries, forms and URLs write it, and as they write a URL that contains it. */
function formsOf(user: string, value: string): string[] {
  const plain = [value, encodeURIComponent(value), inForm(value), inUserInfo(value)];
  const nested = plain.flatMap((form) => [form, encodeURIComponent(form), inForm(form)]);
  const all = [...nested, ...nested.map((form) => JSON.stringify(form).slice(1, -1))];
  return [...new Set([...all, basic(user, value), basic('', value)])];
}

/** Forms and the parameters of a URL encode more characters than `encodeURIComponent`. */
const inForm = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);

function inUserInfo(value: string): string {
  const url = new URL('https://localhost');
  url.password = value;
  return url.password;
}

const basic = (username: string, password: string): string => Buffer.from(`${username}:${password}`).toString('base64');
