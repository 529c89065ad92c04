import { randomUUID } from 'node:crypto';
import { parseBaseUrl } from '../http/base-url.ts';
import { getText } from '../json.ts';
import { callAndRead, type GraphClient, type GraphFault, type GraphResult } from './client.ts';

/** A file to upload. */
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

/** A file to download. */
export type MediaDownload = {
  /** The media id in the message; valid for 7 days after it arrived. */
  readonly id: string;
  readonly maxBytes: number;
  /** Limit for each attempt to fetch the file; default 60 s. */
  readonly timeoutMs?: number;
};

/** A downloaded file. */
export type MediaContent = {
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
  if (status !== 200)
    return failed(`HTTP_${status}`, `The request for the file was answered with ${status}`, status >= 500, status);
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
