import { createHttpClient } from '../../carriers/http/client.ts';
import { startServer } from '../http/server.ts';
import { createRandom } from '../smsc/random.ts';
import { createApi } from './api.ts';
import { createEvents } from './events.ts';
import { type InboundDraft, injectInbound } from './inbound.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createLimits, createWindows } from './limits.ts';
import { createMediaStore, type MediaStore } from './media.ts';
import { createMessageDesk, type PhoneNumber } from './messages.ts';
import { createSamples } from './samples.ts';
import { defaultScript, type GraphScript } from './script.ts';
import { createStatusPlanner, type Taken } from './statuses.ts';
import { createTemplates, type SandboxTemplate, type Templates } from './templates.ts';

/** The options of the Graph API simulator. */
export type SandboxGraphOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly accessToken?: string;
  /** The secret that signs the callbacks. */
  readonly appSecret?: string;
  readonly wabaId?: string;
  readonly appId?: string;
  readonly numbers?: readonly PhoneNumber[];
  /** Templates that exist from the start, in the format that creates them; approved unless they have a `status`. */
  readonly templates?: readonly object[];
  /** The callback URL; without one (null, the default) callbacks are lost. */
  readonly callbackUrl?: string | null;
  /** True if the app is subscribed to the account at first: without it, callbacks are lost. Default true. */
  readonly subscribed?: boolean;
  /** `counts` keeps no entries in memory: for benches and long runs. Default `entries`. */
  readonly ledger?: 'entries' | 'counts';
  readonly script?: Partial<GraphScript>;
};

/** A running Graph API simulator. */
export type SandboxGraph = {
  /** The setting `baseUrl` for a connection. */
  readonly baseUrl: string;
  readonly port: number;
  readonly accessToken: string;
  readonly appSecret: string;
  readonly wabaId: string;
  readonly appId: string;
  readonly numbers: readonly PhoneNumber[];
  /** The behaviour, which may be changed at any time. */
  readonly script: GraphScript;
  readonly ledger: Ledger;
  readonly templates: {
    all(): readonly SandboxTemplate[];
    move: Templates['move'];
    rate: Templates['rate'];
    seed: Templates['seed'];
  };
  /** The files that were uploaded or sent. */
  readonly media: Pick<MediaStore, 'put' | 'show'>;
  /** Sets the callback URL without verifying it. */
  setCallback(url: string | null): void;
  /**
   * Verifies a callback URL as the network does (hub.challenge) and uses it from then on. Resolves with false, and
   * changes nothing, when the verification fails.
   */
  verifyCallback(url: string, verifyToken: string): Promise<boolean>;
  /** Simulates an inbound message; resolves once it was acknowledged or given up. */
  injectInbound(draft: InboundDraft): Promise<{ readonly id: string; readonly acked: boolean }>;
  /** Continues with messages that an earlier simulator left open, as if they had just been accepted. */
  resume(owed: readonly Pick<Taken, 'id' | 'phoneNumberId' | 'to' | 'opaque'>[]): void;
  /** Returns the number of statuses that are not due yet and of events that are not delivered yet. */
  pending(): number;
  /** Resolves when all callbacks so far were acknowledged or given up. */
  idle(): Promise<void>;
  /** Closes every connection abruptly. */
  cut(): void;
  close(): Promise<void>;
};

const SANDBOX_NUMBER: PhoneNumber = {
  id: '100000000000001',
  displayNumber: '+351 900 000 001',
  verifiedName: 'Heliograph sandbox',
};

/** The network's limit for files of 100 MiB, and the multipart envelope. */
const MAX_BYTES = 101 * 1024 * 1024;
const CHALLENGE_MS = 10_000;

/**
 * Starts a simulator of the WhatsApp network for tests, benches and first steps: the Graph API, as strict as the real
 * one, with signed callbacks that are late, duplicated or out of order as the script defines, and a ledger of all
 * messages and events. Rejects when the port is not available.
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
  let [url, subscribed] = [callbackUrl, options.subscribed ?? true];
  const applySubscription = (): void => events.setUrl(subscribed ? url : null);

  function setCallback(next: string | null): void {
    url = next;
    applySubscription();
  }

  async function verifyCallback(next: string, verifyToken: string): Promise<boolean> {
    const verified = await answersChallenge(next, verifyToken);
    if (verified) setCallback(next);
    return verified;
  }

  const handle = createApi({
    accessToken,
    appSecret,
    script,
    wabaId,
    appId,
    numbers,
    ledger,
    desk,
    templates,
    media,
    samples,
    verifyCallback,
    subscription: {
      isSubscribed: () => subscribed,
      set(next) {
        subscribed = next;
        applySubscription();
      },
      callbackUrl: () => url,
    },
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
    media: { put: media.put, show: media.show },
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

/** Verifies a callback URL by a challenge (Cloud API, webhooks). */
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
