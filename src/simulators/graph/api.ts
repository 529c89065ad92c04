import { parseJson, getText } from '../../carriers/json.ts';
import { appSecretProof } from '../../carriers/whatsapp/signature.ts';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';
import type { SandboxAnswer, SandboxRequest } from '../http/server.ts';
import { type Answer, faultAnswer, ok, proofFault, unknownObject } from './answer.ts';
import type { LedgerWriter } from './ledger.ts';
import type { MediaStore } from './media.ts';
import type { MessageDesk, PhoneNumber } from './messages.ts';
import type { Samples } from './samples.ts';
import type { GraphScript } from './script.ts';
import type { Templates } from './templates.ts';

/** Dependencies of the API. */
export type GraphApiDeps = {
  readonly accessToken: string;
  readonly appSecret: string;
  readonly script: Pick<GraphScript, 'requireProof'>;
  readonly wabaId: string;
  readonly numbers: readonly PhoneNumber[];
  readonly ledger: LedgerWriter;
  readonly desk: MessageDesk;
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
export type Subscription = {
  isSubscribed(): boolean;
  set(subscribed: boolean): void;
  callbackUrl(): string | null;
};

type Response = SandboxAnswer | Promise<SandboxAnswer>;

/** Creates the handler of all API requests, which must have our token. */
export function createApi(deps: GraphApiDeps): (request: SandboxRequest) => Response {
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
    return body === undefined ? invalidJson() : deps.desk.post(number, body);
  }
  if (method === 'POST' && edge === 'media') return deps.media.upload(request);
  return method === 'GET' && edge === '' ? ok(toNetwork(unregistered)(number)) : unknownPath(request);
}

const invalidJson = (): Answer => faultAnswer({ code: 100, details: 'The body is not valid JSON.' });

function onAccount(deps: GraphApiDeps, unregistered: Set<string>, edge: string, request: SandboxRequest): Response {
  const { templates, subscription } = deps;
  switch (`${request.method} ${edge}`) {
    case 'GET phone_numbers':
      return ok({ data: deps.numbers.map(toNetwork(unregistered)) });
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
  (unregistered: ReadonlySet<string>) =>
  ({ id, displayNumber, verifiedName }: PhoneNumber): object => ({
    id,
    display_phone_number: displayNumber,
    verified_name: verifiedName,
    quality_rating: 'GREEN',
    code_verification_status: 'VERIFIED',
    platform_type: unregistered.has(id) ? 'NOT_APPLICABLE' : 'CLOUD_API',
    status: unregistered.has(id) ? 'PENDING' : 'CONNECTED',
    throughput: { level: 'STANDARD' },
  });
