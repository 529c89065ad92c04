import type { IncomingHttpHeaders } from 'node:http';
import { parseBaseUrl } from '../http/base-url.ts';
import { createHttpClient, type HttpAnswer, type HttpRequest } from '../http/client.ts';
import { getMember, parseJson } from '../json.ts';
import { classOf, classOfHttp, type GraphError, readGraphError } from './errors.ts';
import { appSecretProof } from './signature.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';

/** One request to the Graph API. */
export type GraphRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below the version, with its query: `/106540352242922/messages`. */
  readonly path: string;
  /** A body to send as JSON. */
  readonly json?: object;
  /** A body to send as it is, instead of `json`. */
  readonly raw?: {
    readonly bytes: Uint8Array;
    readonly contentType: string;
    /**
     * Position in a previously announced file at which the bytes begin. Such requests pass the token in a different
     * form.
     */
    readonly fileOffset?: number;
  };
  readonly timeoutMs?: number;
};

/** The response to a request to the Graph API. */
export type GraphAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** The parsed body; undefined if it was not JSON. */
      readonly json: unknown;
    }
  | Extract<HttpAnswer, { kind: 'failed' }>;

/** A client of the Graph API with one access token. */
export type GraphClient = {
  readonly settings: WhatsappSettings;
  /** Sends a request to the API with the token and the proof of the app secret; never rejects. */
  call(request: GraphRequest): Promise<GraphAnswer>;
  /** Fetches a file with the token; the caller has verified that the host may receive it. Never rejects. */
  fetch(request: Pick<HttpRequest, 'origin' | 'path' | 'timeoutMs' | 'maxBytes'>): Promise<HttpAnswer>;
  /** Closes all connections; requests in flight end as `failed`. */
  close(): Promise<void>;
};

/** The longest responses are lists of templates, which are requested page by page. */
const MAX_ANSWER_BYTES = 8 << 20;

/**
 * Creates a client with up to `concurrency` kept-alive connections; it follows no redirects and accepts up to 8 MiB per
 * response.
 */
export function createGraphClient(settings: WhatsappSettings, secrets: WhatsappSecrets): GraphClient {
  const { origin, prefix } = parseBaseUrl('baseUrl', settings.baseUrl);
  const base = `${prefix}/${settings.apiVersion}`;
  const authorization = `Bearer ${secrets.accessToken}`;
  const proof = `appsecret_proof=${appSecretProof(secrets.accessToken, secrets.appSecret)}`;
  const http = createHttpClient({
    connections: settings.concurrency,
    connectTimeoutMs: settings.connectTimeoutSeconds * 1000,
    timeoutMs: settings.submitTimeoutSeconds * 1000,
    maxBytes: MAX_ANSWER_BYTES,
  });
  const jsonHeaders = { authorization, 'content-type': 'application/json' };
  const offsetHeaders = (contentType: string, offset: number) => ({
    authorization: `OAuth ${secrets.accessToken}`,
    'content-type': contentType,
    file_offset: String(offset),
  });
  const headersOf = ({ raw, json }: GraphRequest): Readonly<Record<string, string>> => {
    if (raw?.fileOffset !== undefined) return offsetHeaders(raw.contentType, raw.fileOffset);
    if (raw) return { authorization, 'content-type': raw.contentType };
    return json ? jsonHeaders : { authorization };
  };

  async function call(request: GraphRequest): Promise<GraphAnswer> {
    const { method, path, json, raw, timeoutMs } = request;
    const body = raw?.bytes ?? (json ? JSON.stringify(json) : undefined);
    const answer = await http.request({
      method,
      origin,
      path: `${base}${path}${path.includes('?') ? '&' : '?'}${proof}`,
      headers: headersOf(request),
      ...(body === undefined ? {} : { body }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    if (answer.kind === 'failed') return answer;
    const { status, headers } = answer;
    return { kind: 'answered', status, headers, json: parseJson(answer.body.toString('utf8')) };
  }

  return {
    settings,
    call,
    fetch: (request) => http.request({ method: 'GET', headers: { authorization }, ...request }),
    close: http.close,
  };
}

/** Returns the error in a response; null for a success, or if the body is not one of the Graph API. */
export const errorIn = (json: unknown): GraphError | null => readGraphError(getMember(json, 'error'));

/** The result of a call other than sending a message. */
export type GraphResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: GraphFault };

/** Reason why a call failed. */
export type GraphFault = {
  /** The network's code, `HTTP_` followed by the status, or `UNREACHABLE`. */
  readonly code: string;
  /** A readable explanation. */
  readonly text: string;
  readonly status: number | null;
  /** True if the same call may succeed later. */
  readonly retry: boolean;
};

/**
 * Makes a call and reads its response with `readBody`, which returns undefined for an unexpected body. Never rejects.
 */
export async function callAndRead<T>(
  client: GraphClient,
  request: GraphRequest,
  read: (json: unknown) => T | undefined,
): Promise<GraphResult<T>> {
  const answer = await client.call(request);
  const value = answer.kind === 'answered' && answer.status === 200 ? read(answer.json) : undefined;
  return value === undefined ? { ok: false, fault: faultOf(answer) } : { ok: true, value };
}

function faultOf(answer: GraphAnswer): GraphFault {
  if (answer.kind === 'failed') return { code: 'UNREACHABLE', text: answer.reason, status: null, retry: true };
  const { status, json } = answer;
  const error = errorIn(json);
  const { act } = error ? classOf(error, status) : classOfHttp(status);
  const retry = act === 'busy' || act === 'later' || act === 'repeat';
  if (error) return { code: String(error.code), text: error.text, status, retry };
  return { code: `HTTP_${status}`, text: `The API answered ${status} with an unexpected body`, status, retry };
}
