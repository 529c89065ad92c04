import { parseJson, getText } from '../../carriers/json.ts';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';
import type { SandboxAnswer, SandboxRequest } from '../http/server.ts';
import { type Answer, faultAnswer, unknownObject, ok } from './answer.ts';
import type { LedgerWriter } from './ledger.ts';
import type { MediaStore } from './media.ts';
import type { MessageDesk, PhoneNumber } from './messages.ts';
import type { Samples } from './samples.ts';
import type { Templates } from './templates.ts';

/** What the API needs. */
export type GraphApiDeps = {
  readonly accessToken: string;
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
  readonly subscribe: (url: string, verifyToken: string) => Promise<boolean>;
  readonly unsubscribe: () => void;
  readonly subscribedTo: () => string | null;
};

type Response = SandboxAnswer | Promise<SandboxAnswer>;

/** Creates the handler of all API requests (protocol sheet whatsapp, sections 2 to 5), which must have our token. */
export function createApi(deps: GraphApiDeps): (request: SandboxRequest) => Response {
  const { ledger, numbers, wabaId, media } = deps;
  const byId = new Map(numbers.map((number) => [number.id, number]));

  return (request) => {
    ledger.count('requests');
    const [, version = '', id = '', edge = '', ...rest] = request.path.split('/');
    if (!isAuthorized(request, deps.accessToken)) {
      ledger.count('unauthorized');
      return faultAnswer({ code: 190, details: 'Invalid OAuth access token.' });
    }
    if (version === 'media-download') return media.download(id, request.query);
    if (!/^v\d+\.\d$/.test(version) || rest.length > 0) return unknownPath(request);
    const number = byId.get(id);
    if (number) return onNumber(deps, number, edge, request);
    if (id === wabaId) return onAccount(deps, edge, request);
    if (id === deps.appId && edge === 'uploads' && request.method === 'POST') return deps.samples.begin(request.query);
    if (id.startsWith('upload:')) return deps.samples.put(id, request);
    return edge === '' ? onObject(deps, id, request) : unknownObject(id);
  };
}

function isAuthorized({ headers }: SandboxRequest, accessToken: string): boolean {
  const [scheme, token = ''] = (headers.authorization ?? '').split(' ');
  return (scheme === 'Bearer' || scheme === 'OAuth') && constantTimeEqual(token, accessToken);
}

const unknownPath = ({ method, path }: SandboxRequest): Answer =>
  faultAnswer({ code: 2500, details: `Unknown path components: ${method} ${path}` });

function onNumber(deps: GraphApiDeps, number: PhoneNumber, edge: string, request: SandboxRequest): Response {
  const { method } = request;
  if (method === 'POST' && (edge === 'messages' || edge === 'marketing_messages')) {
    const body = parseJson(request.body.toString());
    return body === undefined ? invalidJson() : deps.desk.post(number, body);
  }
  if (method === 'POST' && edge === 'media') return deps.media.upload(request);
  return method === 'GET' && edge === '' ? ok(toNetwork(number)) : unknownPath(request);
}

const invalidJson = (): Answer => faultAnswer({ code: 100, details: 'The body is not valid JSON.' });

function onAccount(deps: GraphApiDeps, edge: string, request: SandboxRequest): Response {
  const { templates } = deps;
  switch (`${request.method} ${edge}`) {
    case 'GET phone_numbers':
      return ok({ data: deps.numbers.map(toNetwork) });
    case 'GET message_templates':
      return templates.list(request.query);
    case 'POST message_templates':
      return withBody(request, templates.create);
    case 'DELETE message_templates':
      return templates.remove(request.query);
    case 'GET subscribed_apps':
      return ok({ data: deps.subscribedTo() === null ? [] : [{ override_callback_uri: deps.subscribedTo() }] });
    case 'POST subscribed_apps':
      return subscribe(deps, request);
    case 'DELETE subscribed_apps':
      deps.unsubscribe();
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
  if (url === '' && token === '') return ok({ success: true });
  const verified = URL.canParse(url) && (await deps.subscribe(url, token));
  return verified
    ? ok({ success: true })
    : faultAnswer({ code: 100, details: 'override_callback_uri: the callback verification failed' });
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

const toNetwork = ({ id, displayNumber, verifiedName }: PhoneNumber): object => ({
  id,
  display_phone_number: displayNumber,
  verified_name: verifiedName,
  quality_rating: 'GREEN',
  code_verification_status: 'VERIFIED',
  throughput: { level: 'STANDARD' },
});
