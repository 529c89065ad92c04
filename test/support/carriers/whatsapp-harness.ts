import { onTestFinished } from 'vitest';
import type { Carrier, Submission } from '../../../src/channels/carrier.ts';
import { createWhatsappCarrier, type Timing } from '../../../src/channels/whatsapp/carrier.ts';
import {
  parseWhatsappSecrets,
  parseWhatsappSettings,
  type WhatsappSecrets,
  type WhatsappSettings,
} from '../../../src/channels/whatsapp/settings.ts';
import { type SandboxGraph, type SandboxGraphOptions, startSandboxGraph } from '../../../src/sandbox/graph-server.ts';
import { type SandboxAnswer, startServer } from '../../../src/sandbox/http-server.ts';
import { createTestHost, submission, type TestHost, until } from './smpp-harness.ts';

/** Delays that are short enough for tests, in the proportions of the carrier's. */
export const FAST: Timing = {
  repeatMs: [10, 20],
  laterMs: 50,
  holdMs: 60,
  probeBaseMs: 10,
  probeMaxMs: 100,
  tokenRetryMs: 60,
};

/**
 * The approved templates of `sandbox()`: with one variable, without, with a header, a button and names, and with a
 * code.
 */
export const TEMPLATES = [
  {
    name: 'order_update',
    language: 'pt_PT',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Your order {{1}} is on its way.' }],
  },
  { name: 'hello', language: 'en_US', category: 'MARKETING', components: [{ type: 'BODY', text: 'Hello there.' }] },
  {
    name: 'named',
    language: 'en_US',
    category: 'MARKETING',
    parameter_format: 'NAMED',
    components: [
      { type: 'HEADER', format: 'IMAGE' },
      { type: 'BODY', text: 'Dear {{first_name}}, see {{thing}} today.' },
      { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'See', url: 'https://x.example/{{1}}' }] },
    ],
  },
  {
    name: 'code',
    language: 'en_US',
    category: 'AUTHENTICATION',
    components: [
      { type: 'BODY', add_security_recommendation: true },
      { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'COPY_CODE', text: 'Copy' }] },
    ],
  },
] as const;

/** Starts a fast simulator without rate limits and with the templates above; it ends with the test. */
export async function sandbox(options: SandboxGraphOptions = {}): Promise<SandboxGraph> {
  const script = { tps: 0, pairBurst: 0, callbackRetryMs: 10, approveAfterMs: 5, ...options.script };
  const graph = await startSandboxGraph({ templates: TEMPLATES, ...options, script });
  onTestFinished(() => graph.close());
  return graph;
}

export const settingsFor = (graph: SandboxGraph, more: object = {}): WhatsappSettings =>
  parseWhatsappSettings({
    baseUrl: graph.baseUrl,
    wabaId: graph.wabaId,
    appId: graph.appId,
    phoneNumberIds: graph.numbers.map(({ id }) => id),
    tps: 0,
    throttlePauseMs: 30,
    submitTimeoutSeconds: 10,
    ...more,
  });

export const secretsFor = ({ accessToken, appSecret }: SandboxGraph, more: object = {}): WhatsappSecrets =>
  parseWhatsappSecrets({ accessToken, appSecret, verifyToken: 'verify-me', ...more });

export type Bench = { readonly graph: SandboxGraph; readonly carrier: Carrier; readonly host: TestHost };

/** Starts a simulator and a carrier that is up; both end with the test. */
export async function bound(options: SandboxGraphOptions = {}, settings: object = {}): Promise<Bench> {
  const graph = await sandbox(options);
  const carrier = createWhatsappCarrier(settingsFor(graph, settings), secretsFor(graph), FAST);
  const host = createTestHost();
  onTestFinished(() => carrier.stop(0));
  carrier.start(host);
  await until(() => carrier.room() > 0);
  return { graph, carrier, host };
}

/** Builds a submission with a template without variables, which is accepted even outside the window. */
export const templateTo = (destination: string, more: Partial<Submission> = {}): Submission =>
  submission({
    destination,
    sender: '100000000000001',
    body: 'Hello there.',
    content: {
      channel: 'WHATSAPP',
      message: { type: 'template', template: { name: 'hello', language: { code: 'en_US' } } },
    },
    ...more,
  });

type Answering = () => SandboxAnswer | Promise<SandboxAnswer>;

/** The response to a probe of the API when all is well. */
export const THERE: SandboxAnswer = { status: 200, body: { data: [] } };

/** Starts a server at the address of the API that responds so to messages and probes, and a carrier that has found it. */
export async function carrierFacing(onMessage: Answering, onProbe: Answering = () => THERE): Promise<Carrier> {
  const server = await startServer({
    maxBytes: 10_000,
    handle: ({ method }) => (method === 'GET' ? onProbe() : onMessage()),
  });
  const graph = await sandbox();
  const carrier = createWhatsappCarrier(settingsFor(graph, { baseUrl: server.url }), secretsFor(graph), FAST);
  onTestFinished(async () => {
    await carrier.stop(0);
    await server.close();
  });
  carrier.start(createTestHost());
  await until(() => carrier.room() > 0);
  return carrier;
}
