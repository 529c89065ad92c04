import { createHmac, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { createSlots } from '../../core/limits.ts';
import { constantTimeEqual } from '../../core/secrets.ts';
import type { Outcome, Submission } from '../carrier.ts';
import { createHttpClient, type HttpAnswer, type HttpRequest, parseBaseUrl } from '../http-client.ts';
import { getMember, getText, type OwnFile, parseJson } from '../settings.ts';
import {
  type ErrorClass,
  HOLD,
  KNOWN_ERRORS,
  type KnownError,
  LATER,
  MESSAGE,
  NUMBER_LIMIT,
  PERMISSION_ERRORS,
  PROOF_ERROR,
  type Refusal,
  TOKEN,
  UNKNOWN_OBJECT,
} from './error-table.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';

const BY_CODE: ReadonlyMap<number, KnownError> = new Map(
  KNOWN_ERRORS.flatMap((known) => known.codes.map((code): [number, KnownError] => [code, known])),
);

/** Finds the error in the table, by its code and, if Meta has only the general code 100, by its text. */
function findKnown({ code, text }: GraphError): KnownError | undefined {
  if (code >= 200 && code <= 299) return PERMISSION_ERRORS;
  if (code === 100 && text.includes('appsecret_proof')) return PROOF_ERROR;
  if (code === 100 && text.startsWith('Unsupported ') && text.includes('Object with ID')) return UNKNOWN_OBJECT;
  return BY_CODE.get(code);
}

/** Returns the class of a Graph API error. Codes that are not listed are classified by the HTTP status. */
export const classOf = (error: GraphError, httpStatus: number): ErrorClass =>
  findKnown(error)?.errorClass ?? classOfHttp(httpStatus);

/** Returns the text of an error, followed by its meaning and the action required of the operator, if known. */
export function explain(error: GraphError): string {
  const known = findKnown(error);
  return known ? `${error.text}. ${known.meaning} ${known.advice}` : error.text;
}

/** Returns the class by the HTTP status alone, which is only a hint: nothing is rejected that may be accepted later. */
export function classOfHttp(httpStatus: number): ErrorClass {
  if (httpStatus === 401) return TOKEN;
  if (httpStatus === 429) return NUMBER_LIMIT;
  if (httpStatus === 403 || (httpStatus >= 300 && httpStatus <= 399)) return HOLD;
  return httpStatus >= 500 || httpStatus === 408 ? LATER : MESSAGE;
}

/**
 * Returns the state of a message that was accepted and then reported as failed with this code. An error that would have
 * allowed a retry before acceptance is an ordinary ERROR now, since the network has given up the message.
 */
export function statusOfFailure(code: number | null): Refusal {
  const known = code === null ? undefined : BY_CODE.get(code)?.errorClass;
  return known?.act === 'refuse' ? known.status : 'ERROR';
}

/** The error object of a response or a status (Cloud API, webhooks and error codes). */
type GraphError = { readonly code: number; readonly text: string };

/** Reads an error object, `{ code, message, title, error_data: { details } }`; null if it has no code. */
export function readGraphError(json: unknown): GraphError | null {
  const written = getMember(json, 'code');
  const code = typeof written === 'string' && /^\d{1,9}$/.test(written) ? Number(written) : written;
  if (typeof code !== 'number' || !Number.isInteger(code)) return null;
  const title = getText(json, 'title') || getText(json, 'message');
  const details = getText(getMember(json, 'error_data'), 'details');
  const text = details === '' || details === title ? title : `${title}: ${details}`;
  return { code, text: text.slice(0, MAX_TEXT_LENGTH) || `error ${code}` };
}

const MAX_TEXT_LENGTH = 1000;

type GraphRequest = {
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
  return { code: `HTTP_${status}`, text: `The API returned ${status} with an unexpected body`, status, retry };
}

/** Returns the value of the header `X-Hub-Signature-256` for a body (Cloud API, webhooks). */
export const signatureOf = (rawBody: Uint8Array | string, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(rawBody).digest('hex')}`;

/**
 * Returns `appsecret_proof`, which shows that a call with this token comes from the app to which it was issued: the
 * HMAC-SHA256 of the token under the app secret, in hex. An app whose setting "Require App Secret" is on is rejected
 * without it (developers.facebook.com/docs/graph-api/guides/secure-requests).
 */
export const appSecretProof = (accessToken: string, appSecret: string): string =>
  createHmac('sha256', appSecret).update(accessToken).digest('hex');

/** Returns true if the header is the signature of exactly these bytes, in constant time. */
export const isSigned = (rawBody: Uint8Array, header: string | undefined, appSecret: string): boolean =>
  header !== undefined && constantTimeEqual(header, signatureOf(rawBody, appSecret));

export type MediaUpload = { readonly bytes: Uint8Array; readonly mimeType: string; readonly fileName: string };

const UPLOAD_MS = 120_000;
const DOWNLOAD_MS = 60_000;

/**
 * Uploads a file for messages from this number and returns its id, which is valid for 30 days (Cloud API, media).
 */
export function uploadMedia(
  client: GraphClient,
  phoneNumberId: string,
  file: MediaUpload,
): Promise<GraphResult<string>> {
  const raw = multipart(file);
  const path = `/${phoneNumberId}/media`;
  return callAndRead(
    client,
    { method: 'POST', path, raw, timeoutMs: UPLOAD_MS },
    (json) => getText(json, 'id') || undefined,
  );
}

function multipart({ bytes, mimeType, fileName }: MediaUpload): { bytes: Uint8Array; contentType: string } {
  const boundary = `heliograph-${randomUUID()}`;
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const type = mimeType.replaceAll(/[^\x20-\x7e]/g, '');
  const name = fileName.replaceAll(/["\r\n\\]/g, '_');
  const head =
    `${field('messaging_product', 'whatsapp')}${field('type', type)}--${boundary}\r\n` +
    `content-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: ${type}\r\n\r\n`;
  return {
    bytes: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

type MediaDownload = {
  /** The media id in the message; valid for 7 days after it arrived. */
  readonly id: string;
  readonly maxBytes: number;
  /** Limit for each attempt to fetch the file; default 60 s. */
  readonly timeoutMs?: number;
};

/** A downloaded file. */
type MediaContent = {
  readonly bytes: Buffer;
  /** The type according to the network, which the content may contradict. */
  readonly mimeType: string;
};

/** A file's URL is valid for five minutes: an expired one is requested once more. */
const MAX_TRIES = 2;

/**
 * Downloads a file of a message: requests its URL by its id, then fetches it with the token, which is sent only to the
 * API and to `mediaHosts`. At most `maxBytes` are read, and a file with a larger announced size is not fetched at all.
 */
export async function downloadMedia(client: GraphClient, wanted: MediaDownload): Promise<GraphResult<MediaContent>> {
  let last: GraphResult<MediaContent> = failed('NO_ADDRESS', 'The network gave no URL', false);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const place = await callAndRead(client, { method: 'GET', path: `/${encodeURIComponent(wanted.id)}` }, readPlace);
    if (!place.ok) return place;
    last = await fetchFrom(client, place.value, wanted);
    if (last.ok || last.fault.status !== 404) return last;
  }
  return last;
}

type Place = { readonly url: string; readonly mimeType: string; readonly sizeBytes: number };

function readPlace(json: unknown): Place | undefined {
  const url = getText(json, 'url');
  const sizeBytes = Number(getText(json, 'file_size') || 0);
  return url === '' ? undefined : { url, mimeType: getText(json, 'mime_type'), sizeBytes };
}

async function fetchFrom(
  client: GraphClient,
  { url, mimeType, sizeBytes }: Place,
  { maxBytes, timeoutMs = DOWNLOAD_MS }: MediaDownload,
): Promise<GraphResult<MediaContent>> {
  const target = trustedTarget(url, client);
  if (!target) return failed('FOREIGN_HOST', 'The URL of the file is on a host that must not receive the token', false);
  if (sizeBytes > maxBytes) return failed('TOO_LARGE', `The file is too large: ${sizeBytes} bytes`, false);
  const answer = await client.fetch({ ...target, maxBytes, timeoutMs });
  if (answer.kind === 'failed') return failed('UNREACHABLE', answer.reason, true);
  const { status, body, headers } = answer;
  if (status !== 200) return failed(`HTTP_${status}`, `The request for the file got ${status}`, status >= 500, status);
  return { ok: true, value: { bytes: body, mimeType: mimeType || (headers['content-type'] ?? '') } };
}

/** Accepts only the host of the API itself, and those in `mediaHosts` over HTTPS; null for any other. */
function trustedTarget(address: string, { settings }: GraphClient): { origin: string; path: string } | null {
  const url = URL.parse(address);
  if (!url) return null;
  const own = url.origin === parseBaseUrl('baseUrl', settings.baseUrl).origin;
  const listed = url.protocol === 'https:' && url.port === '' && settings.mediaHosts.includes(url.hostname);
  return own || listed ? { origin: url.origin, path: `${url.pathname}${url.search}` } : null;
}

const failed = (
  code: string,
  text: string,
  retry: boolean,
  status: number | null = null,
): { readonly ok: false; readonly fault: GraphFault } => ({ ok: false, fault: { code, text, status, retry } });

/** The copies of our files at the network; see `createCopies`. */
type Copies = {
  /**
   * Returns the network's id of a file for messages of this number, which is uploaded if necessary; null without one.
   * Never rejects.
   */
  idOf(phoneNumberId: string, file: OwnFile): Promise<string | null>;
  /** Forgets a copy that the network did not accept in a message. */
  forget(phoneNumberId: string, file: OwnFile, networkId: string): Promise<void>;
};

type Log = (level: 'warn', message: string, fields: Record<string, unknown>) => void;

/** The network keeps uploads for 30 days (Cloud API, media); a message may wait for some days. */
const KEEP_DAYS = 25;
/** Maximum concurrent uploads: each has its file in memory twice. */
const UPLOADS_AT_ONCE = 3;
const MAX_REMEMBERED = 10_000;
/** Time for which an id is used without asking the database. */
const REMEMBER_MS = 3_600_000;
/** Time for which a file is sent by its link after a failed upload; `REMEMBER_MS` if the network rejects the file. */
const RETRY_MS = 60_000;

/**
 * Creates the store of copies. A file is uploaded once for each number and sent by its id from then on, so that the
 * network does not have to reach us, and does not fetch the file for every message.
 */
export function createCopies(client: GraphClient, log: Log): Copies {
  const known = new LRUCache<string, { readonly id: Promise<string | null> }>({
    max: MAX_REMEMBERED,
    ttl: REMEMBER_MS,
  });
  const slots = createSlots(UPLOADS_AT_ONCE);
  const keyOf = (phoneNumberId: string, { key }: OwnFile): string => `${phoneNumberId} ${key}`;

  async function upload(phoneNumberId: string, file: OwnFile): Promise<string | null> {
    const found = await file.findCopy(phoneNumberId);
    if (found !== null) return found;
    const { mimeType, name: fileName } = file;
    const answer = await slots.run(async () =>
      uploadMedia(client, phoneNumberId, { bytes: await file.read(), mimeType, fileName }),
    );
    if (!answer.ok) return giveUp(phoneNumberId, file, answer.fault.text, answer.fault.retry ? RETRY_MS : REMEMBER_MS);
    await file.saveCopy({ sender: phoneNumberId, networkId: answer.value, days: KEEP_DAYS });
    return answer.value;
  }

  /** Caches the failure, so that messages contain the link to the file instead. */
  function giveUp(phoneNumberId: string, file: OwnFile, reason: string, ttl: number): null {
    known.set(keyOf(phoneNumberId, file), { id: Promise.resolve(null) }, { ttl });
    log('warn', 'A file could not be uploaded: messages contain the link to it', {
      phoneNumberId,
      name: file.name,
      reason,
    });
    return null;
  }

  return {
    idOf(phoneNumberId, file) {
      const key = keyOf(phoneNumberId, file);
      const earlier = known.get(key);
      if (earlier) return earlier.id;
      const id = upload(phoneNumberId, file).catch((err: unknown) =>
        giveUp(phoneNumberId, file, String(err), RETRY_MS),
      );
      known.set(key, { id });
      return id;
    },
    async forget(phoneNumberId, file, networkId) {
      known.delete(keyOf(phoneNumberId, file));
      await file
        .forgetCopy({ sender: phoneNumberId, networkId })
        .catch((err: unknown) => log('warn', 'A copy of a file could not be forgotten', { reason: String(err) }));
    },
  };
}

/** Returns a message with the network's id of its file instead of the link; null if it has no link to a file. */
function withCopy(submission: Submission, networkId: string): Submission | null {
  const { content } = submission;
  if (content?.channel !== 'WHATSAPP') return null;
  const { type } = content.message;
  const media = content.message[type];
  if (typeof media !== 'object' || media === null || !('link' in media)) return null;
  const { link: _, ...rest } = media;
  return {
    ...submission,
    content: { ...content, message: { ...content.message, [type]: { id: networkId, ...rest } } },
  };
}

/** The codes with which the network rejects a message because of its file, among others. */
const FILE_CODES: readonly string[] = ['100', '131009', '131052', '131053'];

/**
 * Sends a message with a copy of its file, if it has one: uploads the file first if necessary. If the network does not
 * accept the message with the copy, it is sent once more with the link, and the next message gets a new copy.
 */
export function sendWithCopy(
  copies: Copies,
  phoneNumberId: string,
  submission: Submission,
  send: Send,
): Promise<Outcome> {
  const { file } = submission;
  // Most messages have none, and need no separate promise.
  return file ? sendCopyOf(file, copies, phoneNumberId, submission, send) : send(submission);
}

type Send = (submission: Submission) => Promise<Outcome>;

async function sendCopyOf(
  file: OwnFile,
  copies: Copies,
  phoneNumberId: string,
  submission: Submission,
  send: Send,
): Promise<Outcome> {
  const id = await copies.idOf(phoneNumberId, file);
  const copied = id === null ? null : withCopy(submission, id);
  if (id === null || copied === null) return send(submission);
  const outcome = await send(copied);
  if (outcome.kind !== 'refused' || !FILE_CODES.includes(outcome.code)) return outcome;
  await copies.forget(phoneNumberId, file, id);
  return send(submission);
}
