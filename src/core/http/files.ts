import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError, invalidFields } from '../errors.ts';
import { createFairQueue, type Slot } from '../fair-queue.ts';
import type { Range, Storage } from '../storage.ts';
import { ErrorOut, ref } from './app.ts';

/**
 * Reads the Range header (RFC 9110, 14.2) for a file of this size. Returns `whole` if there is none, if it is not
 * supported (several ranges, another unit) or if it is invalid, which RFC 9110 allows us to ignore; and `beyond` if it
 * begins after the end of the file.
 */
export function readRange(header: string | undefined, sizeBytes: number): Range | 'whole' | 'beyond' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  const last = sizeBytes - 1;
  if (from === '') return to === '' ? 'whole' : lastBytes(Number(to), sizeBytes);
  const [start, end] = [Number(from), to === '' ? last : Number(to)];
  if (to !== '' && end < start) return 'whole';
  return start > last ? 'beyond' : { start, end: Math.min(end, last) };
}

const lastBytes = (count: number, sizeBytes: number): Range | 'beyond' =>
  count === 0 || sizeBytes === 0 ? 'beyond' : { start: Math.max(0, sizeBytes - count), end: sizeBytes - 1 };

export const MULTIPART_LIMITS = {
  files: 1,
  fields: 20,
  parts: 21,
  fieldNameSize: 100,
  fieldSize: 64 * 1024,
  headerPairs: 20,
};

const KIB = 1024;
/** Limits on the size and the duration of an upload. */
export type FormBounds = {
  /** Maximum size of the file; the multipart parser gets it too (`fileSize`). */
  readonly fileBytes: number;
  /** Maximum size of the body: the file, the fields and the boundaries between them. */
  readonly bodyBytes: number;
  /** An upload that receives nothing for this long is rejected. */
  readonly stallTimeoutMs: number;
  /** An upload that takes longer than this is rejected. */
  readonly totalTimeoutMs: number;
  /**
   * Time for which the rest of a rejected body is read and discarded. Then the connection is closed, and a response
   * that the client has not read by then is lost.
   */
  readonly drainTimeoutMs: number;
};

/** Returns the limits of a form whose file has at most `fileBytes` bytes. */
export const formBounds = (fileBytes: number): FormBounds => ({
  fileBytes,
  bodyBytes: fileBytes + MULTIPART_LIMITS.fields * MULTIPART_LIMITS.fieldSize + 64 * KIB,
  stallTimeoutMs: 20_000,
  totalTimeoutMs: 240_000,
  drainTimeoutMs: 5000,
});

/** A received form: the properties of its file, whose content was written into `file`, and its fields by name. */
type Form = {
  readonly fileName: string;
  /** The type that the sender declares; `application/octet-stream` if none. */
  readonly contentType: string;
  readonly fields: ReadonlyMap<string, string>;
};

/** A request whose body is a form; `parts` starts reading it. */
type FormRequest = { readonly raw: IncomingMessage; parts(): AsyncIterable<Multipart> };

type FormOptions = {
  /** An empty file, which gets the content. */
  readonly file: FileHandle;
  readonly bounds: FormBounds;
  /** The upload that the form belongs to: it holds a slot while the body arrives. */
  readonly upload: Upload;
};

/**
 * Receives the form of an upload and writes its file into `file`. Size, number of parts, pauses and total time of the
 * body are all limited. Errors: 400 for a malformed form, one without a file, or one that arrives too slowly; 413
 * beyond a size limit; 503 if there is no slot for it, or if it has to give way to others.
 */
export async function receiveForm(request: FormRequest, { file, bounds, upload }: FormOptions): Promise<Form> {
  const { raw } = request;
  if (Number(raw.headers['content-length'] ?? 0) > bounds.bodyBytes) throw tooLarge(bounds);
  try {
    return await upload.receive((place) => receiveParts(request, { file, bounds, place }));
  } catch (error) {
    drainBody(raw, bounds);
    throw asClientError(error);
  }
}

type Reception = Omit<FormOptions, 'upload'> & { readonly place: Place };

async function receiveParts(request: FormRequest, { file, bounds, place }: Reception): Promise<Form> {
  const given = new AbortController();
  const watch = watchBody(request.raw, bounds, place);
  try {
    return await Promise.race([readParts(request, { file, bounds, signal: given.signal }), watch.broken]);
  } catch (error) {
    given.abort();
    throw error;
  } finally {
    watch.stop();
  }
}

const tooLarge = ({ fileBytes }: Pick<FormBounds, 'fileBytes'>) =>
  new AppError('too_large', { message: `An upload may have at most ${Math.floor(fileBytes / KIB / KIB)} MiB` });

type Watch = { readonly broken: Promise<never>; stop(): void };

/** Rejects if the body is too large or too slow, or if it has to give way. */
function watchBody(raw: IncomingMessage, bounds: FormBounds, { received, signal }: Place): Watch {
  const { bodyBytes, stallTimeoutMs, totalTimeoutMs } = bounds;
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  const tooSlow = (): void => reject(invalidFields([{ field: 'body', message: 'did not arrive in time' }]));
  const timers = [setTimeout(tooSlow, stallTimeoutMs), setTimeout(tooSlow, totalTimeoutMs)];
  const yieldToSingles = (): void => reject(signal.reason);
  signal.addEventListener('abort', yieldToSingles);
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    timers[0]?.refresh();
    received(chunk.length);
    bytes += chunk.length;
    if (bytes > bodyBytes) reject(tooLarge(bounds));
  };
  raw.on('data', count);
  return {
    broken,
    stop() {
      raw.off('data', count);
      signal.removeEventListener('abort', yieldToSingles);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

type Target = { readonly file: FileHandle; readonly bounds: FormBounds; readonly signal: AbortSignal };

async function readParts(request: FormRequest, target: Target): Promise<Form> {
  const fields = new Map<string, string>();
  let given: Pick<Form, 'fileName' | 'contentType'> | undefined;
  for await (const part of request.parts()) {
    if (part.type === 'file') {
      await store(part, target);
      given = { fileName: part.filename ?? '', contentType: part.mimetype };
    } else {
      if (part.valueTruncated) throw invalidFields([{ field: part.fieldname.slice(0, 100), message: 'is too long' }]);
      fields.set(part.fieldname, String(part.value));
    }
  }
  if (given === undefined)
    throw invalidFields([{ field: 'file', message: 'is required: send it as a part with a file name' }]);
  return { ...given, fields };
}

async function store(part: MultipartFile, { file, bounds, signal }: Target): Promise<void> {
  if (part.fieldname !== 'file')
    throw invalidFields([
      { field: part.fieldname.slice(0, 100), message: 'must not be a file: send the file in the part "file"' },
    ]);
  let bytes = 0;
  await pipeline(
    part.file,
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) bytes += (await file.write(chunk, 0, chunk.length, bytes)).bytesWritten;
    },
    { signal },
  );
  if (part.file.truncated) throw tooLarge(bounds);
}

/** Turns errors of the form into client errors; errors of the disk are ours and stay as they are. */
function asClientError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError || 'syscall' in error) return error;
  if ('statusCode' in error && error.statusCode === 413)
    return new AppError('too_large', { message: `The form: ${error.message}` });
  return new AppError('invalid', { message: `The form cannot be read: ${error.message}`, cause: error });
}

/** Discards the rest of a rejected body so that the response can be read, and closes the connection if it goes on. */
function drainBody(raw: IncomingMessage, { drainTimeoutMs }: FormBounds): void {
  raw.resume();
  const timer = setTimeout(() => {
    if (!raw.readableEnded) raw.destroy();
  }, drainTimeoutMs);
  raw.once('end', () => clearTimeout(timer));
}

/** A stored file to be sent as a response. */
export type ServedFile = {
  readonly key: string;
  readonly sizeBytes: number;
  readonly contentType: string;
  /** The name under which a browser saves it. */
  readonly fileName: string;
  /** True if a browser may display it; only for types that cannot contain scripts. */
  readonly inline?: boolean;
  /** Identifies exactly these bytes; without quotes. */
  readonly etag: string;
};

const bytes = (options: { readonly description: string; readonly examples?: string[] }) =>
  Type.Unsafe<Readable>(Type.String({ format: 'binary', ...options }));

/** The responses of a route that ends in `sendFile`, for its schema. */
export const FILE_ANSWERS = {
  200: bytes({ description: 'The file' }),
  206: bytes({ description: 'The range of the file in the header Range', examples: ['(bytes)'] }),
  304: Type.Null({ description: 'The file is still that of the ETag in the header If-None-Match' }),
  416: ref(ErrorOut),
};

/** Content policy of files: whatever they contain, they may not load or run anything. */
const POLICY = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

/**
 * Responds with a stored file (RFC 9110): all of it, one range (206, or 416 beyond its end), only its headers, or 304.
 * A request for several ranges gets the whole file. Caches must revalidate their copy each time, since a link may have
 * been revoked.
 */
export async function sendFile(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  storage: Pick<Storage, 'get'>,
  file: ServedFile,
): Promise<FastifyReply> {
  const etag = `"${file.etag}"`;
  // A range is useless to a client whose partial copy is of another version.
  const isOther = headers['if-range'] !== undefined && headers['if-range'] !== etag;
  const range = isOther ? 'whole' : readRange(headers.range, file.sizeBytes);
  if (range === 'beyond') throw beyond(file);
  reply.headers({ ...safeHeaders(file), etag });
  if (knows(headers['if-none-match'], etag)) return reply.code(304).send();
  const part = range === 'whole' ? undefined : range;
  const { start, end } = part ?? { start: 0, end: file.sizeBytes - 1 };
  if (part) reply.code(206).header('content-range', `bytes ${start}-${end}/${file.sizeBytes}`);
  reply.header('content-length', end - start + 1);
  // The framework would replace the content length for anything but a stream.
  if (method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(await storage.get(file.key, part));
}

const beyond = ({ sizeBytes }: ServedFile): AppError =>
  new AppError('range_not_satisfiable', { headers: { 'content-range': `bytes */${sizeBytes}` } });

const safeHeaders = ({ contentType, fileName, inline = false }: ServedFile) => ({
  'content-type': contentType,
  'content-disposition': disposition(inline ? 'inline' : 'attachment', fileName),
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-cache',
  'accept-ranges': 'bytes',
});

/** Returns the header of RFC 6266: the name in two forms, for clients that read only ASCII and for the others. */
function disposition(kind: 'inline' | 'attachment', fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  const exact = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16)}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

const knows = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined && ifNoneMatch.split(',').some((known) => ['*', etag, `W/${etag}`].includes(known.trim()));

/** Slot of an upload, used while its body arrives. */
export type Place = {
  /** Reports received bytes of the body, by which the upload keeps its slot. */
  received(bytes: number): void;
  /** Aborted, with an AppError, when the upload has to give way to one of another account. */
  readonly signal: AbortSignal;
};

export type Upload = {
  /**
   * Waits for a slot and runs `take`, which receives the body, while it holds the slot. Errors: 503 if no slot became
   * free in time.
   */
  receive<T>(take: (place: Place) => Promise<T>): Promise<T>;
};

export type UploadGate = {
  /** Runs an upload. Errors: 429 if the account has too many in progress, 503 if all accounts together have. */
  run<T>(accountId: number, work: (upload: Upload) => Promise<T>): Promise<T>;
};

const DEFAULTS = {
  /** Number of bodies that are received at the same time; the others wait. */
  places: 8,
  /** Maximum uploads in progress of one account: in reception, waiting, or being processed. */
  perAccount: 2,
  /** Maximum uploads in progress of all accounts. Each needs two open files. */
  inAll: 200,
  /** A body that arrives more slowly is dripping: it gives way to others. */
  bytesPerSecond: 32 * 1024,
  /** A body does not count as dripping before it has been slower for this long. */
  graceMs: 2000,
  /** Time for which an upload waits for a slot. Shorter than the time after which an unread body is cut off. */
  patienceMs: 6000,
  /** Interval at which a waiting upload looks for one that has to give way. */
  checkMs: 250,
  now: (): number => performance.now(),
};
export type UploadGateOptions = typeof DEFAULTS;

/** An upload whose body is arriving. `paidUntil`: the bytes so far keep it from counting as dripping until then. */
type GateReception = { readonly accountId: number; paidUntil: number; readonly yieldToSingles: AbortController };

/**
 * Gives the slots in which bodies of uploads are received to the accounts in turn. A slot is held only while bytes
 * flow: when all are taken and another upload waits, a dripping one loses its slot, the slowest first. If all flow, an
 * account with several slots loses one to an account with none.
 */
export function createUploadGate(options: Partial<UploadGateOptions> = {}): UploadGate {
  const { places, perAccount, inAll, bytesPerSecond, graceMs, patienceMs, checkMs, now } = { ...DEFAULTS, ...options };
  const queue = createFairQueue({ size: places, perAccount });
  const inside = new Map<number, number>();
  const receptions = new Set<GateReception>();
  let all = 0;

  function enter(accountId: number): Disposable {
    const own = inside.get(accountId) ?? 0;
    if (own >= perAccount)
      throw new AppError('rate_limited', {
        message: `${perAccount} uploads of this account are in progress`,
        retryAfterSeconds: 5,
      });
    if (all >= inAll) throw tooMany();
    inside.set(accountId, own + 1);
    all++;
    return { [Symbol.dispose]: () => leave(accountId) };
  }

  function leave(accountId: number): void {
    const own = (inside.get(accountId) ?? 1) - 1;
    if (own === 0) inside.delete(accountId);
    else inside.set(accountId, own);
    all--;
  }

  const placesOf = (accountId: number): number =>
    [...receptions].filter((reception) => reception.accountId === accountId).length;

  /** Finds the upload that gives way to one of this account, which has waited for `waitedMs`. */
  function findYielding(accountId: number, waitedMs: number): GateReception | undefined {
    const slowestFirst = [...receptions].sort((a, b) => a.paidUntil - b.paidUntil);
    const [slowest] = slowestFirst;
    if (slowest && slowest.paidUntil < now()) return slowest;
    if (waitedMs < graceMs || placesOf(accountId) > 0) return undefined;
    return slowestFirst.find((reception) => placesOf(reception.accountId) > 1);
  }

  function makeRoom(accountId: number, waitedMs: number): void {
    if (receptions.size < places) return;
    const yielding = findYielding(accountId, waitedMs);
    if (!yielding) return;
    receptions.delete(yielding);
    yielding.yieldToSingles.abort(gaveWay());
  }

  async function waitForPlace(accountId: number): Promise<Slot> {
    const patience = new AbortController();
    const beganAt = now();
    const check = setInterval(() => makeRoom(accountId, now() - beganAt), checkMs);
    const timer = setTimeout(() => patience.abort(tooMany()), patienceMs);
    makeRoom(accountId, 0);
    try {
      return await queue.enter(accountId, { signal: patience.signal });
    } finally {
      clearInterval(check);
      clearTimeout(timer);
    }
  }

  async function receive<T>(accountId: number, take: (place: Place) => Promise<T>): Promise<T> {
    using _slot = await waitForPlace(accountId);
    const reception = { accountId, paidUntil: now() + graceMs, yieldToSingles: new AbortController() };
    receptions.add(reception);
    try {
      return await take({
        received(bytes) {
          const paid = Math.max(reception.paidUntil, now()) + (bytes / bytesPerSecond) * 1000;
          reception.paidUntil = Math.min(paid, now() + graceMs);
        },
        signal: reception.yieldToSingles.signal,
      });
    } finally {
      receptions.delete(reception);
    }
  }

  return {
    async run(accountId, work) {
      using _upload = enter(accountId);
      return await work({ receive: (take) => receive(accountId, take) });
    },
  };
}

const tooMany = (): AppError =>
  new AppError('unavailable', { message: 'Too many uploads in progress', retryAfterSeconds: 5 });

const gaveWay = (): AppError =>
  new AppError('unavailable', {
    message: 'The upload was too slow while others waited: retry later',
    retryAfterSeconds: 5,
  });
