import { createHttpClient } from '../channels/http-client.ts';
import { getText, parseJson } from '../channels/settings.ts';
import { appSecretProof } from '../channels/whatsapp/client.ts';
import { constantTimeEqual } from '../core/secrets.ts';
import { createEvents, createSamples, createStatusPlanner, type Samples, type Taken } from './graph-events.ts';
import { createMediaStore, type MediaStore } from './graph-media.ts';
import {
  createMessageEndpoint,
  type InboundDraft,
  injectInbound,
  type MessageEndpoint,
  type PhoneNumber,
} from './graph-messages.ts';
import {
  type Answer,
  createLedger,
  createLimits,
  createWindows,
  defaultScript,
  faultAnswer,
  type GraphScript,
  type Ledger,
  type LedgerWriter,
  ok,
  proofFault,
  unknownObject,
} from './graph-script.ts';
import { createTemplates, type SandboxTemplate, type Templates } from './graph-templates.ts';
import { type SandboxAnswer, type SandboxRequest, startServer } from './http-server.ts';
import { createRandom } from './smsc-script.ts';

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
  const messages = createMessageEndpoint({
    script,
    ledger,
    random,
    limits,
    windows,
    templates,
    statuses,
    hasMedia: media.has,
  });
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
    messages,
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

type GraphApiDeps = {
  readonly accessToken: string;
  readonly appSecret: string;
  readonly script: Pick<GraphScript, 'requireProof' | 'messagingLimit'>;
  readonly wabaId: string;
  readonly numbers: readonly PhoneNumber[];
  readonly ledger: LedgerWriter;
  readonly messages: MessageEndpoint;
  readonly templates: Templates;
  readonly media: MediaStore;
  readonly appId: string;
  readonly samples: Samples;
  /**
   * Verifies a callback URL with its token and uses it from then on; resolves with false when the verification failed.
   */
  readonly verifyCallback: (url: string, verifyToken: string) => Promise<boolean>;
  readonly subscription: Subscription;
};

/** Subscription of the app to the events of the account, with the address for them. */
type Subscription = {
  isSubscribed(): boolean;
  set(subscribed: boolean): void;
  callbackUrl(): string | null;
};

type Response = SandboxAnswer | Promise<SandboxAnswer>;

/** Creates the handler of all API requests, which must have our token. */
function createApi(deps: GraphApiDeps): (request: SandboxRequest) => Response {
  const { ledger, numbers, wabaId, media } = deps;
  const byId = new Map(numbers.map((number) => [number.id, number]));
  const unregistered = new Set(numbers.flatMap(({ id, registered = true }) => (registered ? [] : [id])));

  /** Handles a request about the object with this id; `edge` is empty for the object itself. */
  function onId(id: string, edge: string, request: SandboxRequest): Response {
    const number = byId.get(id);
    if (number) return onNumber(deps, { number, unregistered }, edge, request);
    if (id === wabaId) return onAccount(deps, unregistered, edge, request);
    if (id === 'app' && edge === '' && request.method === 'GET') return ok({ id: deps.appId });
    if (id === deps.appId && edge === 'uploads' && request.method === 'POST') return deps.samples.begin(request.query);
    if (id.startsWith('upload:')) return deps.samples.put(id, request);
    return edge === '' ? onObject(deps, id, request) : unknownObject(id);
  }

  return (request) => {
    ledger.count('requests');
    const [, version = '', id = '', edge = '', ...rest] = request.path.split('/');
    if (!isAuthorized(request, deps.accessToken)) {
      ledger.count('unauthorized');
      return faultAnswer({ code: 190, details: 'Invalid OAuth access token.' });
    }
    if (version === 'media-download') return media.download(id, request.query);
    if (!isProven(request, deps)) return proofFault(request.query.has(PROOF));
    return /^v\d+\.\d$/.test(version) && rest.length === 0 ? onId(id, edge, request) : unknownPath(request);
  };
}

function isAuthorized({ headers }: SandboxRequest, accessToken: string): boolean {
  const [scheme, token = ''] = (headers.authorization ?? '').split(' ');
  return (scheme === 'Bearer' || scheme === 'OAuth') && constantTimeEqual(token, accessToken);
}

const PROOF = 'appsecret_proof';

/** A proof that was sent must be right, even if the app does not require one. */
function isProven({ query }: SandboxRequest, { accessToken, appSecret, script }: GraphApiDeps): boolean {
  const given = query.get(PROOF);
  return given === null ? !script.requireProof : constantTimeEqual(given, appSecretProof(accessToken, appSecret));
}

const unknownPath = ({ method, path }: SandboxRequest): Answer =>
  faultAnswer({ code: 2500, details: `Unknown path components: ${method} ${path}` });

type NumberState = { readonly number: PhoneNumber; readonly unregistered: Set<string> };

function onNumber(
  deps: GraphApiDeps,
  { number, unregistered }: NumberState,
  edge: string,
  request: SandboxRequest,
): Response {
  const { method } = request;
  if (method === 'POST' && edge === 'register')
    return withBody(request, (body) => register({ number, unregistered }, body));
  if (method === 'POST' && (edge === 'messages' || edge === 'marketing_messages')) {
    if (unregistered.has(number.id)) return faultAnswer({ code: 133010, details: 'The account is not registered.' });
    const body = parseJson(request.body.toString());
    return body === undefined ? invalidJson() : deps.messages.post(number, body);
  }
  if (method === 'POST' && edge === 'media') return deps.media.upload(request);
  return method === 'GET' && edge === '' ? ok(toNetwork(deps, unregistered)(number)) : unknownPath(request);
}

const invalidJson = (): Answer => faultAnswer({ code: 100, details: 'The body is not valid JSON.' });

function onAccount(deps: GraphApiDeps, unregistered: Set<string>, edge: string, request: SandboxRequest): Response {
  const { templates, subscription } = deps;
  switch (`${request.method} ${edge}`) {
    // The account itself (developers.facebook.com/docs/graph-api/reference/whats-app-business-account).
    case 'GET ':
      return ok({ id: deps.wabaId, name: 'Sandbox', owner_business_info: { id: `9${deps.wabaId}`, name: 'Sandbox' } });
    case 'GET phone_numbers':
      return ok({ data: deps.numbers.map(toNetwork(deps, unregistered)) });
    case 'GET message_templates':
      return templates.list(request.query);
    case 'POST message_templates':
      return withBody(request, templates.create);
    case 'DELETE message_templates':
      return templates.remove(request.query);
    case 'GET subscribed_apps':
      return ok({ data: subscription.isSubscribed() ? [subscribedApp(deps)] : [] });
    case 'POST subscribed_apps':
      return subscribe(deps, request);
    case 'DELETE subscribed_apps':
      subscription.set(false);
      return ok({ success: true });
    default:
      return unknownPath(request);
  }
}

function withBody(request: SandboxRequest, act: (body: unknown) => Answer): Answer {
  const body = parseJson(request.body.toString());
  return body === undefined ? invalidJson() : act(body);
}

async function subscribe(deps: GraphApiDeps, request: SandboxRequest): Promise<Answer> {
  const body = parseJson(request.body.toString());
  const [url, token] = [getText(body, 'override_callback_uri'), getText(body, 'verify_token')];
  const isOverridden = url !== '' || token !== '';
  if (isOverridden && !(URL.canParse(url) && (await deps.verifyCallback(url, token))))
    return faultAnswer({ code: 100, details: 'override_callback_uri: the callback verification failed' });
  deps.subscription.set(true);
  return ok({ success: true });
}

function onObject({ templates, media }: GraphApiDeps, id: string, request: SandboxRequest): Answer {
  const { method } = request;
  if (method === 'GET') return templates.show(id) ?? media.show(id);
  if (method === 'DELETE') return media.remove(id);
  const body = parseJson(request.body.toString());
  return method === 'POST' && body !== undefined
    ? (templates.edit(id, body) ?? unknownObject(id))
    : unknownPath(request);
}

/** Registers a number, and checks its PIN. Numbers are forgotten with the simulator. */
function register({ number: { id, pin }, unregistered }: NumberState, body: unknown): Answer {
  const given = getText(body, 'pin');
  if (getText(body, 'messaging_product') !== 'whatsapp')
    return faultAnswer({ code: 100, details: 'messaging_product is required' });
  if (!/^\d{6}$/.test(given)) return faultAnswer({ code: 100, details: 'pin must have 6 digits' });
  if (pin !== undefined && given !== pin)
    return faultAnswer({ code: 133005, details: 'The PIN is not that of the two-step verification.' });
  unregistered.delete(id);
  return ok({ success: true });
}

const subscribedApp = ({ appId, subscription }: GraphApiDeps): object => ({
  whatsapp_business_api_data: { id: appId, name: 'Sandbox', link: 'https://www.facebook.com/games/?app_id=sandbox' },
  ...(subscription.callbackUrl() !== null && { override_callback_uri: subscription.callbackUrl() }),
});

const toNetwork =
  ({ script }: Pick<GraphApiDeps, 'script'>, unregistered: ReadonlySet<string>) =>
  ({ id, displayNumber, verifiedName }: PhoneNumber): object => ({
    id,
    display_phone_number: displayNumber,
    verified_name: verifiedName,
    quality_rating: 'GREEN',
    code_verification_status: 'VERIFIED',
    platform_type: unregistered.has(id) ? 'NOT_APPLICABLE' : 'CLOUD_API',
    status: unregistered.has(id) ? 'PENDING' : 'CONNECTED',
    throughput: { level: 'STANDARD' },
    whatsapp_business_manager_messaging_limit: script.messagingLimit,
  });
