import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Multipart, MultipartFile } from '@fastify/multipart';
import { AppError, invalidFields } from '../../errors.ts';
import type { Place, Upload } from './upload-gate.ts';

/** Limits for the multipart parser. */
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
export type Form = {
  readonly fileName: string;
  /** The type that the sender declares; `application/octet-stream` if none. */
  readonly contentType: string;
  readonly fields: ReadonlyMap<string, string>;
};

/** A request whose body is a form; `parts` starts reading it. */
export type FormRequest = { readonly raw: IncomingMessage; parts(): AsyncIterable<Multipart> };

export type FormOptions = {
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
  const giveWay = (): void => reject(signal.reason);
  signal.addEventListener('abort', giveWay);
  let bytes = 0;
  const count = (octets: Buffer): void => {
    timers[0]?.refresh();
    received(octets.length);
    bytes += octets.length;
    if (bytes > bodyBytes) reject(tooLarge(bounds));
  };
  raw.on('data', count);
  return {
    broken,
    stop() {
      raw.off('data', count);
      signal.removeEventListener('abort', giveWay);
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
    async (octets: AsyncIterable<Buffer>) => {
      for await (const chunk of octets) bytes += (await file.write(chunk, 0, chunk.length, bytes)).bytesWritten;
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
