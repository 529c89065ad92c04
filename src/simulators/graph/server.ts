import { createHttpClient } from '../../carriers/http/client.ts';
import { startServer } from '../http/server.ts';
import { createRandom } from '../smsc/random.ts';
import { createApi } from './api.ts';
import { createEvents } from './events.ts';
import { type InboundDraft, injectInbound } from './inbound.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createLimits, createWindows } from './limits.ts';
import { createMediaStore } from './media.ts';
import { createMessageDesk, type PhoneNumber } from './messages.ts';
import { createSamples } from './samples.ts';
import { defaultScript, type GraphScript } from './script.ts';
import { createStatusPlanner, type Taken } from './statuses.ts';
import { createTemplates, type SandboxTemplate, type Templates } from './templates.ts';

export type SandboxGraphOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly accessToken?: string;
  /** Signs the callbacks. */
  readonly appSecret?: string;
  readonly wabaId?: string;
  readonly appId?: string;
  readonly numbers?: readonly PhoneNumber[];
  /** Templates that are approved already, in the form that creates them. */
  readonly templates?: readonly object[];
  /** Where callbacks go; null, the default, loses them until there is one. */
  readonly callbackUrl?: string | null;
  /** Default `entries`. */
  readonly ledger?: 'entries' | 'counts';
  readonly script?: Partial<GraphScript>;
};

export type SandboxGraph = {
  /** The setting `baseUrl` of a connection to it. */
  readonly baseUrl: string;
  readonly port: number;
  readonly accessToken: string;
  readonly appSecret: string;
  readonly wabaId: string;
  readonly appId: string;
  readonly numbers: readonly PhoneNumber[];
  /** May be changed at any time. */
  readonly script: GraphScript;
  readonly ledger: Ledger;
  readonly templates: { all(): readonly SandboxTemplate[]; move: Templates['move']; seed: Templates['seed'] };
  /** Where callbacks go from now on, without asking it. */
  setCallback(url: string | null): void;
  /** Asks the address first, as the network does (hub.challenge); false, and nothing changes, when it does not answer. */
  verifyCallback(url: string, verifyToken: string): Promise<boolean>;
  injectInbound(draft: InboundDraft): Promise<{ readonly id: string; readonly acked: boolean }>;
  /** Takes over messages that a sandbox before this one took: plans their statuses as for a message of this moment. */
  resume(owed: readonly Pick<Taken, 'id' | 'phoneNumberId' | 'to' | 'opaque'>[]): void;
  /** Statuses that are yet to come, and events that wait for their callback. */
  pending(): number;
  /** Resolves when all callbacks so far have been acknowledged or given up. */
  idle(): Promise<void>;
  /** Cuts every connection without a word. */
  cut(): void;
  close(): Promise<void>;
};

const SANDBOX_NUMBER: PhoneNumber = {
  id: '100000000000001',
  displayNumber: '+351 900 000 001',
  verifiedName: 'Heliograph sandbox',
};

/** The largest file that the network takes, and its frame. */
const MAX_BYTES = 101 * 1024 * 1024;
const CHALLENGE_MS = 10_000;

/**
 * A WhatsApp network for tests, benches and first steps: the Graph API of the protocol sheet, as strict as the real one
 * (section 12), with callbacks that are signed, late, doubled and out of order as its script says, and a ledger of what
 * it took and told. Rejects when the port cannot be had.
 */
export async function startSandboxGraph(options: SandboxGraphOptions = {}): Promise<SandboxGraph> {
  const { accessToken = 'sandbox-token', appSecret = 'sandbox-secret' } = options;
  const { wabaId = '100000000000000', appId = '100000000000009' } = options;
  const { numbers = [SANDBOX_NUMBER], callbackUrl = null, ledger: keep = 'entries' } = options;
  const script: GraphScript = { ...defaultScript(), ...options.script };
  const ledger = createLedger(keep);
  const random = createRandom(script.seed);
  const displayNumber = (id: string): string => numbers.find((number) => number.id === id)?.displayNumber ?? '';
  const events = createEvents({ script, ledger, wabaId, appSecret, displayNumber });
  const [limits, windows] = [createLimits(script), createWindows(script)];
  const samples = createSamples();
  const templates = createTemplates({ script, ledger, events, isSample: samples.has });
  const statuses = createStatusPlanner({ script, ledger, random, events });
  const media = createMediaStore({ ledger, urlMs: () => script.mediaUrlMs, baseUrl: () => server.url });
  const desk = createMessageDesk({ script, ledger, random, limits, windows, templates, statuses, hasMedia: media.has });
  let subscribed = callbackUrl;

  function setCallback(url: string | null): void {
    subscribed = url;
    events.setUrl(url);
  }

  async function verifyCallback(url: string, verifyToken: string): Promise<boolean> {
    const good = await answersChallenge(url, verifyToken);
    if (good) setCallback(url);
    return good;
  }

  const handle = createApi({
    accessToken,
    wabaId,
    appId,
    numbers,
    ledger,
    desk,
    templates,
    media,
    samples,
    subscribe: verifyCallback,
    unsubscribe: () => setCallback(null),
    subscribedTo: () => subscribed,
  });
  const { host, port } = options;
  const server = await startServer({
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    maxBytes: MAX_BYTES,
    handle,
  });
  for (const draft of options.templates ?? []) templates.seed(draft);
  setCallback(callbackUrl);

  async function close(): Promise<void> {
    templates.stop();
    statuses.stop();
    await events.stop();
    await server.close();
  }

  return {
    baseUrl: server.url,
    port: server.port,
    accessToken,
    appSecret,
    wabaId,
    appId,
    numbers,
    script,
    ledger,
    templates,
    setCallback,
    verifyCallback,
    idle: events.idle,
    cut: server.cut,
    close,
    injectInbound: (draft) =>
      injectInbound({ script, ledger, events, media, windows, firstNumber: numbers[0]?.id ?? '' }, draft),
    resume(owed) {
      for (const message of owed) statuses.plan({ ...message, category: 'utility', outOfWindow: false });
    },
    pending: () => statuses.scheduled() + events.waiting(),
  };
}

/** Protocol sheet whatsapp, section 6. */
async function answersChallenge(url: string, verifyToken: string): Promise<boolean> {
  const client = createHttpClient({ connections: 1, connectTimeoutMs: CHALLENGE_MS, timeoutMs: CHALLENGE_MS });
  const { origin, pathname, searchParams } = new URL(url);
  const challenge = String(Math.floor(Math.random() * 1e9));
  for (const [name, value] of [
    ['hub.mode', 'subscribe'],
    ['hub.challenge', challenge],
    ['hub.verify_token', verifyToken],
  ] as const) {
    searchParams.set(name, value);
  }
  const answer = await client.request({ method: 'GET', origin, path: `${pathname}?${searchParams}`, headers: {} });
  await client.close();
  return answer.kind === 'answered' && answer.status === 200 && answer.body.toString() === challenge;
}
