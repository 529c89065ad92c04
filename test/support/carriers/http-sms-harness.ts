import { expect, onTestFinished, test } from 'vitest';
import type { Carrier, Submission } from '../../../src/channels/carrier.ts';
import {
  type CallbackRequest,
  compileCallbacks,
  type HttpSmsCallback,
} from '../../../src/channels/http-sms/callbacks.ts';
import { createHttpSmsCarrier } from '../../../src/channels/http-sms/carrier.ts';
import type { PresetName } from '../../../src/channels/http-sms/presets/presets.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings, resolveSettings } from '../../../src/channels/http-sms/settings.ts';
import type { Timing } from '../../../src/channels/http-sms/submit.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from '../../../src/sandbox/http-server.ts';
import { type ConformancePeer, carrierConformance } from './conformance.ts';
import { createTestHost, submission, until } from './smpp-harness.ts';

/** Delays that are short enough for tests, in the proportions of the carrier's. */
export const FAST: Timing = { laterMs: 50, resendMs: 10, refusedMs: 60, probeBaseMs: 10, probeMaxMs: 100 };

/** Long enough for a busy machine, short enough for the tests that wait for it. */
export const SHORT = { throttlePauseMs: 30, submitTimeoutSeconds: 3 };
const CALLBACK_TOKEN = 'our-callback-token';
const CALLBACK_URL = `https://sms.example.com/api/callbacks/http/acme?token=${CALLBACK_TOKEN}`;

const secretsOf = (more: object = {}) =>
  parseHttpSmsSecrets({ apiKey: 'the-api-key', callbackToken: CALLBACK_TOKEN, ...more });

export type HttpBench = {
  readonly carrier: Carrier;
  /** The requests that were to send a message, in their order. */
  readonly sent: SandboxRequest[];
};

/**
 * Starts a server that responds to messages with `onMessage` and requests that send none (by GET) with 200, and a carrier that has
 * found it; both end with the test.
 */
export async function carrierFacing(
  settings: object,
  onMessage: (request: SandboxRequest) => SandboxAnswer | Promise<SandboxAnswer>,
  secrets: object = {},
): Promise<HttpBench> {
  const sent: SandboxRequest[] = [];
  const server = await startServer({
    maxBytes: 100_000,
    handle(request) {
      if (request.method === 'GET') return { status: 200, body: {} };
      sent.push(request);
      return onMessage(request);
    },
  });
  const carrier = createHttpSmsCarrier(
    parseHttpSmsSettings({ ...SHORT, ...settings, baseUrl: server.url }),
    secretsOf(secrets),
    { callbackUrl: CALLBACK_URL },
    FAST,
  );
  onTestFinished(async () => {
    await carrier.stop(0);
    await server.close();
  });
  carrier.start(createTestHost());
  await until(() => carrier.room() > 0);
  return { carrier, sent };
}

/** The message that tests of presets send: its text is GSM, and has what every format must escape. */
export const message = (more: Partial<Submission> = {}): Submission =>
  submission({ destination: '+351912345678', sender: 'ACME', body: 'Hi & "bye"', ...more });

/** The responses of a carrier as its documentation shows them. */
export type PresetAnswers = {
  readonly settings: { readonly preset: PresetName; readonly account?: string };
  /** The response to the n-th message, which has another id than all others. */
  accept(n: number): SandboxAnswer;
  readonly refuse: SandboxAnswer;
  readonly busy: SandboxAnswer;
  /** The number in a request, in digits. */
  numberIn(request: SandboxRequest): string;
  /** Returns the key by which the carrier recognises repeats. */
  keyIn?(request: SandboxRequest): string;
};

/**
 * Runs the suite that every carrier must pass for a preset, against a server that responds as documented, and what it must do
 * when a proxy responds for that server.
 */
export function presetConformance(answers: PresetAnswers): void {
  const { settings, accept, refuse, busy, numberIn, keyIn } = answers;
  testServerErrors(answers);
  carrierConformance({
    name: `HTTP with the preset ${settings.preset}`,
    async startPeer() {
      const seen = new Map<string, string>();
      let how: Parameters<ConformancePeer['behave']>[0] = 'accept';
      let count = 0;
      const server = await startServer({
        maxBytes: 10_000,
        handle(request) {
          if (request.method === 'GET') return { status: 200, body: {} };
          count += 1;
          seen.set(keyIn?.(request) ?? String(count), numberIn(request));
          return { accept: accept(count), refuse, busy, silent: 'silent' as const }[how];
        },
      });
      return {
        url: server.url,
        behave(next: typeof how) {
          how = next;
        },
        seen: () => [...seen.values()],
        cut: server.cut,
        close: server.close,
      };
    },
    makeCarrier: ({ url }) =>
      createHttpSmsCarrier(
        parseHttpSmsSettings({ ...SHORT, ...settings, baseUrl: url }),
        secretsOf(),
        { callbackUrl: CALLBACK_URL },
        FAST,
      ),
  });
}

/** Statuses of proxies that have lost the server, perhaps after it took the message. */
const PROXY_ERRORS = [500, 502, 503, 504];

function testServerErrors({ settings, accept, keyIn }: PresetAnswers): void {
  test.each(PROXY_ERRORS)(
    'a bare %i is unknown, and sent again only to a carrier that recognises it',
    async (status) => {
      const { carrier, sent } = await carrierFacing(settings, () => ({ status, body: '<html></html>' }));
      expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown', carrierIds: [message().messageId] });
      const keys = sent.map((request) => keyIn?.(request));
      expect(keys).toHaveLength(keyIn ? 3 : 1);
      expect(new Set(keys).size).toBe(1);
    },
  );

  test('an acceptance that is cut short is unknown', async () => {
    const { carrier, sent } = await carrierFacing(settings, () => {
      const whole = accept(1);
      return typeof whole === 'string' ? whole : { ...whole, body: JSON.stringify(whole.body).slice(0, 12) };
    });
    expect(await carrier.submit(message())).toMatchObject({ kind: 'unknown' });
    expect(sent).toHaveLength(keyIn ? 3 : 1);
  });
}

type Called = Partial<Omit<CallbackRequest, 'body'>> & { readonly body: object | string };

/**
 * Reads a callback to a connection with this preset. An object is posted as JSON, a text as a form; the URL has the callback
 * token, and `query` replaces its parameters.
 */
export function readCallback(
  settings: object,
  secrets: object,
  { body, headers = {}, ...more }: Called,
): HttpSmsCallback {
  const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json';
  const read = compileCallbacks(resolveSettings(parseHttpSmsSettings(settings)), secretsOf(secrets));
  return read({
    url: CALLBACK_URL,
    query: { token: CALLBACK_TOKEN },
    headers: { 'content-type': type, ...headers },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    ...more,
  });
}

/** A callback that does not come from the carrier. */
export const FORGED = { kind: 'forged' };
