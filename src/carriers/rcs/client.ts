import type { Submission } from '../carrier.ts';
import { parseBaseUrl } from '../http/base-url.ts';
import { createHttpClient, type HttpAnswer, type HttpClient } from '../http/client.ts';
import type { RcsSettings } from './settings.ts';
import type { TokenSource } from './token.ts';

/** One request to the RBM API. */
export type RbmRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path after the version, with its query. */
  readonly path: string;
  /** The body as JSON text. */
  readonly body?: string;
};

/** A client of the RBM API with an access token. */
export type RbmClient = {
  /**
   * Sends a request with the access token, and once more with a fresh token after a 401. Resolves with `failed` and not
   * written while there is no token; never rejects.
   */
  call(request: RbmRequest): Promise<HttpAnswer>;
};

/** Creates the HTTP client of one carrier, for the API and for the token endpoint. */
export function createConnections(settings: RcsSettings): HttpClient {
  return createHttpClient({
    connections: settings.concurrency + settings.capabilityConcurrency,
    connectTimeoutMs: settings.connectTimeoutSeconds * 1000,
    timeoutMs: settings.requestTimeoutSeconds * 1000,
  });
}

/** Creates a client of the API at `baseUrl`. */
export function createRbmClient(settings: RcsSettings, http: HttpClient, tokens: TokenSource): RbmClient {
  const { origin, prefix } = parseBaseUrl('baseUrl', settings.baseUrl);

  function ask({ path, ...request }: RbmRequest, token: string): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return http.request({ ...request, origin, path: `${prefix}/v1${path}`, headers });
  }

  async function call(request: RbmRequest): Promise<HttpAnswer> {
    const first = tokens.state();
    if (first.kind !== 'valid') return noToken(first.reason);
    const answer = await ask(request, first.token);
    if (answer.kind === 'failed' || answer.status !== 401) return answer;
    const second = await tokens.renew(first.token);
    return second.kind === 'valid' ? ask(request, second.token) : noToken(second.reason);
  }

  return { call };
}

const noToken = (reason: string): HttpAnswer => ({ kind: 'failed', written: false, reason: `No token: ${reason}` });

type Addressed = Pick<Submission, 'messageId' | 'sender' | 'destination'>;

const phonePath = (destination: string): string => `/phones/${encodeURIComponent(destination)}`;

/** Returns the path that creates a message under our id. */
export const messagesPath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages?messageId=${messageId}&agentId=${encodeURIComponent(sender)}`;

/** Returns the path of one message, which revokes it on DELETE. */
export const messagePath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages/${messageId}?agentId=${encodeURIComponent(sender)}`;

/** Returns the path that checks one number. */
export const capabilitiesPath = (sender: string, destination: string, requestId: string): string =>
  `${phonePath(destination)}/capabilities?requestId=${requestId}&agentId=${encodeURIComponent(sender)}`;
