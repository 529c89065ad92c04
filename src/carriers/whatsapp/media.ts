import { randomUUID } from 'node:crypto';
import { parseBase } from '../http/base-url.ts';
import { wordsIn } from '../json.ts';
import { ask, type GraphClient, type GraphFault, type GraphResult } from './client.ts';

export type MediaUpload = { readonly bytes: Uint8Array; readonly mimeType: string; readonly fileName: string };

const UPLOAD_MS = 120_000;
const DOWNLOAD_MS = 60_000;

/** Uploads a file for messages of this number; answers its id, which is good for 30 days (protocol sheet whatsapp, section 3). */
export function uploadMedia(
  client: GraphClient,
  phoneNumberId: string,
  file: MediaUpload,
): Promise<GraphResult<string>> {
  const raw = multipart(file);
  const path = `/${phoneNumberId}/media`;
  return ask(client, { method: 'POST', path, raw, timeoutMs: UPLOAD_MS }, (json) => wordsIn(json, 'id') || undefined);
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

export type MediaDownload = {
  /** As messages name it; good for 7 days after they came. */
  readonly id: string;
  readonly maxBytes: number;
  /** For each of the requests. */
  readonly timeoutMs?: number;
};

export type MediaContent = {
  readonly bytes: Buffer;
  /** As the network calls it; the content says more. */
  readonly mimeType: string;
};

/** Its address is good for five minutes: one that is over is asked for once more. */
const TRIES = 2;

/**
 * Fetches a file of a message: asks for its address by its id, and then there, with the token, which is shown to the API
 * and to `mediaHosts` only. No more than `maxBytes` are read; a file whose size is told to be larger is not begun.
 */
export async function downloadMedia(client: GraphClient, wanted: MediaDownload): Promise<GraphResult<MediaContent>> {
  let last: GraphResult<MediaContent> = failed('NO_ADDRESS', 'The network tells no address', false);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const place = await ask(client, { method: 'GET', path: `/${encodeURIComponent(wanted.id)}` }, readPlace);
    if (!place.ok) return place;
    last = await fetchFrom(client, place.value, wanted);
    if (last.ok || last.fault.status !== 404) return last;
  }
  return last;
}

type Place = { readonly url: string; readonly mimeType: string; readonly sizeBytes: number };

function readPlace(json: unknown): Place | undefined {
  const url = wordsIn(json, 'url');
  const sizeBytes = Number(wordsIn(json, 'file_size') || 0);
  return url === '' ? undefined : { url, mimeType: wordsIn(json, 'mime_type'), sizeBytes };
}

async function fetchFrom(
  client: GraphClient,
  { url, mimeType, sizeBytes }: Place,
  { maxBytes, timeoutMs = DOWNLOAD_MS }: MediaDownload,
): Promise<GraphResult<MediaContent>> {
  const target = trusted(url, client);
  if (!target) return failed('FOREIGN_HOST', 'The address of the file is not one that may see the token', false);
  if (sizeBytes > maxBytes) return failed('TOO_LARGE', `The file has ${sizeBytes} octets`, false);
  const answer = await client.fetch({ ...target, maxBytes, timeoutMs });
  if (answer.kind === 'failed') return failed('UNREACHABLE', answer.reason, true);
  const { status, body, headers } = answer;
  if (status !== 200) return failed(`HTTP_${status}`, `The file was answered with ${status}`, status >= 500, status);
  return { ok: true, value: { bytes: body, mimeType: mimeType || (headers['content-type'] ?? '') } };
}

/** The host of the API itself, or one of `mediaHosts` by HTTPS; nothing else. */
function trusted(address: string, { settings }: GraphClient): { origin: string; path: string } | null {
  const url = URL.parse(address);
  if (!url) return null;
  const own = url.origin === parseBase('baseUrl', settings.baseUrl).origin;
  const listed = url.protocol === 'https:' && url.port === '' && settings.mediaHosts.includes(url.hostname);
  return own || listed ? { origin: url.origin, path: `${url.pathname}${url.search}` } : null;
}

const failed = (
  code: string,
  text: string,
  retry: boolean,
  status: number | null = null,
): { readonly ok: false; readonly fault: GraphFault } => ({ ok: false, fault: { code, text, status, retry } });
