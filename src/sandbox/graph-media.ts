import { createHash } from 'node:crypto';
import { type Answer, type Fault, faultAnswer, type LedgerWriter, ok, unknownObject } from './graph-script.ts';
import type { SandboxRequest } from './http-server.ts';

export type MediaFile = { readonly bytes: Buffer; readonly mimeType: string };

/** The media files of the simulator. */
export type MediaStore = {
  has(id: string): boolean;
  /** Stores a file as if a person had sent it; returns its id. */
  put(file: MediaFile): string;
  upload(request: SandboxRequest): Promise<Answer>;
  /** Returns a file's description and a temporary download URL. */
  show(id: string): Answer;
  remove(id: string): Answer;
  /** Returns the file for a download URL. */
  download(id: string, query: URLSearchParams): Answer;
};

export type MediaDeps = {
  readonly ledger: LedgerWriter;
  /** Validity of a download URL. */
  readonly urlMs: () => number;
  readonly baseUrl: () => string;
};

const KILO = 1024;
const MEGA = KILO * KILO;
/** The maximum sizes by type (Cloud API, media). */
const LIMITS: ReadonlyMap<string, number> = new Map([
  ...['image/jpeg', 'image/png'].map((type): [string, number] => [type, 5 * MEGA]),
  ...['video/mp4', 'video/3gpp'].map((type): [string, number] => [type, 16 * MEGA]),
  ...['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'].map((type): [string, number] => [
    type,
    16 * MEGA,
  ]),
  ['image/webp', 500 * KILO],
]);
const MAX_DOCUMENT_BYTES = 100 * MEGA;
const DOCUMENT_TYPES = /^(text\/plain|application\/(pdf|msword|vnd\..+))$/;
/** The limit for all files together; beyond it the oldest are dropped. */
const MAX_TOTAL_BYTES = 256 * MEGA;
const FIRST_ID = 1_000_000_000_000_000;

/** Creates a store that keeps media files in memory. */
export function createMediaStore({ ledger, urlMs, baseUrl }: MediaDeps): MediaStore {
  const files = new Map<string, MediaFile & { readonly sha256: string }>();
  let bytesKept = 0;
  let nextId = FIRST_ID;

  function put({ bytes, mimeType }: MediaFile): string {
    const id = String(nextId++);
    files.set(id, { bytes, mimeType, sha256: createHash('sha256').update(bytes).digest('hex') });
    bytesKept += bytes.length;
    for (const [oldest] of files) {
      if (bytesKept <= MAX_TOTAL_BYTES || oldest === id) break;
      drop(oldest);
    }
    return id;
  }

  function drop(id: string): boolean {
    bytesKept -= files.get(id)?.bytes.length ?? 0;
    return files.delete(id);
  }

  async function upload(request: SandboxRequest): Promise<Answer> {
    const form = await formOf(request);
    const file = form?.get('file');
    if (form?.get('messaging_product') !== 'whatsapp') return faultAnswer({ code: 100, details: 'messaging_product' });
    if (!(file instanceof Blob)) return faultAnswer({ code: 100, details: 'file' });
    const type = form.get('type');
    const mimeType = typeof type === 'string' ? type : file.type;
    const bytes = Buffer.from(await file.arrayBuffer());
    const fault = fileFault(mimeType, bytes.length);
    return fault ? faultAnswer(fault) : ok({ id: put({ bytes, mimeType }) });
  }

  function show(id: string): Answer {
    const file = files.get(id);
    if (!file) return unknownObject(id);
    const url = `${baseUrl()}/media-download/${id}?ext=${Date.now() + urlMs()}`;
    const { mimeType: mime_type, sha256, bytes } = file;
    return ok({ messaging_product: 'whatsapp', url, mime_type, sha256, file_size: String(bytes.length), id });
  }

  function download(id: string, query: URLSearchParams): Answer {
    const file = files.get(id);
    if (!file || Number(query.get('ext')) < Date.now()) return { status: 404, body: 'Not found' };
    ledger.count('downloads', file.bytes.length);
    return { status: 200, body: file.bytes, headers: { 'content-type': file.mimeType } };
  }

  return {
    has: (id) => files.has(id),
    put,
    upload,
    show,
    remove: (id) => (drop(id) ? ok({ success: true }) : unknownObject(id)),
    download,
  };
}

async function formOf({ headers, body }: SandboxRequest): Promise<FormData | null> {
  const type = headers['content-type'] ?? '';
  try {
    return await new Response(Uint8Array.from(body), { headers: { 'content-type': type } }).formData();
  } catch {
    return null;
  }
}

function fileFault(mimeType: string, sizeBytes: number): Fault | null {
  const bare = mimeType.split(';', 1)[0]?.trim() ?? '';
  const limit = LIMITS.get(bare) ?? (DOCUMENT_TYPES.test(bare) ? MAX_DOCUMENT_BYTES : null);
  if (limit === null) return { code: 131053, details: `type: ${bare} is not supported` };
  return sizeBytes === 0 || sizeBytes > limit ? { code: 131053, details: `file: 1 to ${limit} bytes` } : null;
}
