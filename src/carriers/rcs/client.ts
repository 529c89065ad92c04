import type { Submission } from '../carrier.ts';
import { parseBase } from '../http/base-url.ts';
import { createHttpClient, type HttpAnswer, type HttpClient } from '../http/client.ts';
import type { RcsSettings } from './settings.ts';
import type { TokenSource } from './token.ts';

export type RbmRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** What follows the version, with its query. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
};

export type RbmClient = {
  /**
   * Asks with the access token, and once more with a fresh one when that was not taken. `failed` and not written while
   * there is no token. Never rejects.
   */
  call(request: RbmRequest): Promise<HttpAnswer>;
};

/** The connections of one carrier, to the API and to where its tokens come from. */
export function createConnections(settings: RcsSettings): HttpClient {
  return createHttpClient({
    connections: settings.concurrency + settings.capabilityConcurrency,
    connectTimeoutMs: settings.connectTimeoutSeconds * 1000,
    timeoutMs: settings.requestTimeoutSeconds * 1000,
  });
}

export function createRbmClient(settings: RcsSettings, http: HttpClient, tokens: TokenSource): RbmClient {
  const { origin, prefix } = parseBase('baseUrl', settings.baseUrl);

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

/** Where a message is created, under our id. */
export const messagesPath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages?messageId=${messageId}&agentId=${encodeURIComponent(sender)}`;

/** Where it is taken back. */
export const messagePath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages/${messageId}?agentId=${encodeURIComponent(sender)}`;

/** Where one number is asked for. */
export const capabilitiesPath = (sender: string, destination: string, requestId: string): string =>
  `${phonePath(destination)}/capabilities?requestId=${requestId}&agentId=${encodeURIComponent(sender)}`;
