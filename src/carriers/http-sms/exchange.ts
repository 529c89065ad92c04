import { createHttpClient, type HttpAnswer, type HttpRequest } from '../http/client.ts';
import type { HttpSmsContext } from './carrier.ts';
import { createHider } from './hide-secrets.ts';
import { compileRequests } from './request.ts';
import { type HttpSmsSecrets, type HttpSmsSettings, resolveSettings } from './settings.ts';
import { sharedValues, valuesOf } from './values.ts';

const SHOWN_LENGTH = 1000;

/** Sample message, of which only the request is shown. */
const SAMPLE = {
  messageId: '00000000-0000-7000-8000-000000000000',
  destination: '+15005550006',
  sender: 'ACME',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
} as const;

/**
 * Returns the request of a sample message, which is not sent, and the response to the request that probes the carrier;
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
  const hide = createHider(secrets, { account: resolved.account, username: resolved.request.username });
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
