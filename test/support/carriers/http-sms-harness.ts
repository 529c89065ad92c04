import { onTestFinished } from 'vitest';
import type { Carrier, Submission } from '../../../src/carriers/carrier.ts';
import { createHttpSmsCarrier } from '../../../src/carriers/http-sms/carrier.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings } from '../../../src/carriers/http-sms/settings.ts';
import type { Timing } from '../../../src/carriers/http-sms/submit.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from '../../../src/simulators/http/server.ts';
import { createTestHost, submission, until } from './smpp-harness.ts';

/** Delays that are short enough for tests, in the proportions of the carrier's. */
export const FAST: Timing = { laterMs: 50, resendMs: 10, refusedMs: 60, probeBaseMs: 10, probeMaxMs: 100 };

export const CALLBACK_URL = 'https://sms.example.com/api/callbacks/http/acme';
export const CALLBACK_TOKEN = 'our-callback-token';

export type Answering = (request: SandboxRequest) => SandboxAnswer | Promise<SandboxAnswer>;

export type HttpBench = {
  readonly carrier: Carrier;
  /** The requests that were to send a message, in their order. */
  readonly sent: SandboxRequest[];
};

/**
 * Starts a server that answers messages with `onMessage` and everything else with 200, and a carrier that has found it; both
 * end with the test. Settings without a `baseUrl` get that of the server.
 */
export async function carrierFacing(
  settings: object,
  onMessage: Answering,
  { secrets = {}, isMessage = ({ method }: SandboxRequest) => method !== 'GET' } = {},
): Promise<HttpBench> {
  const sent: SandboxRequest[] = [];
  const server = await startServer({
    maxBytes: 100_000,
    handle(request) {
      if (!isMessage(request)) return { status: 200, body: {} };
      sent.push(request);
      return onMessage(request);
    },
  });
  const carrier = createHttpSmsCarrier(
    parseHttpSmsSettings({ baseUrl: server.url, throttlePauseMs: 30, submitTimeoutSeconds: 0.4, ...settings }),
    parseHttpSmsSecrets({ apiKey: 'the-api-key', callbackToken: CALLBACK_TOKEN, ...secrets }),
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

/** The message that tests of presets send. */
export const message = (more: Partial<Submission> = {}): Submission =>
  submission({ destination: '+351912345678', sender: 'ACME', body: 'Olá & "hi"', ...more });
