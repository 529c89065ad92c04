import type { IncomingHttpHeaders } from 'node:http';
import { parseBase } from '../http/base-url.ts';
import { createHttpClient, type HttpAnswer, type HttpRequest } from '../http/client.ts';
import { memberOf, parseJson } from '../json.ts';
import { classOf, classOfHttp, type GraphError, readGraphError } from './errors.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';

export type GraphRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the version, with its query: `/106540352242922/messages`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly json?: object;
  /** Sent as it is, in place of `json`. */
  readonly raw?: {
    readonly bytes: Uint8Array;
    readonly contentType: string;
    /** Where in a file that was told of before the octets begin. Such requests name the token in a way of their own. */
    readonly fileOffset?: number;
  };
  readonly timeoutMs?: number;
};

export type GraphAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** undefined when it was no JSON. */
      readonly json: unknown;
    }
  | Extract<HttpAnswer, { kind: 'failed' }>;

/** The Graph API as one access token sees it. */
export type GraphClient = {
  readonly settings: WhatsappSettings;
  /** Never rejects. */
  call(request: GraphRequest): Promise<GraphAnswer>;
  /** Fetches a file with the token; the caller has made sure that its host may see that. Never rejects. */
  fetch(request: Pick<HttpRequest, 'origin' | 'path' | 'timeoutMs' | 'maxBytes'>): Promise<HttpAnswer>;
  /** Ends what is under way as failed. */
  close(): Promise<void>;
};

/** Longer answers are lists of templates: a page of them is asked for at a time. */
const MAX_ANSWER_BYTES = 8 << 20;

/** Keeps connections, at most `concurrency`; follows no redirect; answers are cut at 8 MiB. */
export function createGraphClient(settings: WhatsappSettings, secrets: WhatsappSecrets): GraphClient {
  const { origin, prefix } = parseBase('baseUrl', settings.baseUrl);
  const base = `${prefix}/${settings.apiVersion}`;
  const authorization = `Bearer ${secrets.accessToken}`;
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
      path: `${base}${path}`,
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

/** What the network says is wrong; null when the answer is a success, or no answer of the Graph API. */
export const errorIn = (json: unknown): GraphError | null => readGraphError(memberOf(json, 'error'));

/** What came of a call beside sending. */
export type GraphResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: GraphFault };

export type GraphFault = {
  /** The network's code, `HTTP_` and the status, or `UNREACHABLE`. */
  readonly code: string;
  /** For people. */
  readonly text: string;
  readonly status: number | null;
  /** Whether the same call may pass later. */
  readonly retry: boolean;
};

/** Makes a call, and reads its answer: `read` answers undefined for what it does not understand. */
export async function ask<T>(
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
  const { act } = error ? classOf(error.code, status) : classOfHttp(status);
  const retry = act === 'busy' || act === 'later' || act === 'twice';
  if (error) return { code: String(error.code), text: error.text, status, retry };
  return { code: `HTTP_${status}`, text: `The API answered ${status}, not in its own form`, status, retry };
}
