import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Multipart, MultipartFile } from '@fastify/multipart';
import { AppError, invalidFields } from '../errors.ts';

/** For the multipart parser. */
export const FORM_LIMITS = {
  files: 1,
  fields: 20,
  parts: 21,
  fieldNameSize: 100,
  fieldSize: 64 * 1024,
  headerPairs: 20,
};

const KIB = 1024;
/** How a body must come. */
export type Bounds = {
  /** Of the file; for the multipart parser too (`fileSize`). */
  readonly fileBytes: number;
  /** The file, the fields and what parts them. */
  readonly bodyBytes: number;
  /** A body of which nothing comes for so long is given up… */
  readonly stallMs: number;
  /** … and so is one that takes so long. */
  readonly wholeMs: number;
  /**
   * How long what still comes after the answer is read and thrown away. The connection is cut then, and an answer that
   * the other side has not read yet is lost with it.
   */
  readonly lingerMs: number;
};

/** For a form whose file has at most so many bytes. */
export const boundsFor = (fileBytes: number): Bounds => ({
  fileBytes,
  bodyBytes: fileBytes + FORM_LIMITS.fields * FORM_LIMITS.fieldSize + 64 * KIB,
  stallMs: 20_000,
  wholeMs: 240_000,
  lingerMs: 5000,
});

/** A form as it was sent: its file, which stands in `file` now, and its fields by name. */
export type Form = {
  readonly fileName: string;
  /** What the sender says of the file: `application/octet-stream` where nothing. */
  readonly contentType: string;
  readonly fields: ReadonlyMap<string, string>;
};

/** A request whose body is a form; `parts` begins to read it. */
export type FormRequest = { readonly raw: IncomingMessage; parts(): AsyncIterable<Multipart> };

/**
 * Receives the form of an upload and writes its file into `file`. Every way for a body not to end is bounded: its size, its
 * parts, its pauses, its time.
 * Errors: 400 for a broken form, without a file, or one that comes too slowly; 413 beyond the bounds.
 */
export async function receiveForm(request: FormRequest, file: FileHandle, bounds: Bounds): Promise<Form> {
  const { raw } = request;
  if (Number(raw.headers['content-length'] ?? 0) > bounds.bodyBytes) throw tooMuch(bounds);
  const given = new AbortController();
  const watch = watchBody(raw, bounds);
  try {
    return await Promise.race([readParts(request, { file, bounds, signal: given.signal }), watch.broken]);
  } catch (error) {
    given.abort();
    endBody(raw, bounds);
    throw faultOf(error);
  } finally {
    watch.stop();
  }
}

const tooMuch = ({ fileBytes }: Pick<Bounds, 'fileBytes'>) =>
  new AppError('too_large', { message: `An upload has at most ${Math.floor(fileBytes / KIB / KIB)} MiB` });

/** Rejects when the body is too large or too slow. */
function watchBody(raw: IncomingMessage, bounds: Bounds): { broken: Promise<never>; stop(): void } {
  const { bodyBytes, stallMs, wholeMs } = bounds;
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  const tooSlow = (): void => reject(invalidFields([{ field: 'body', message: 'did not come in time' }]));
  const timers = [setTimeout(tooSlow, stallMs), setTimeout(tooSlow, wholeMs)];
  let bytes = 0;
  const count = (octets: Buffer): void => {
    timers[0]?.refresh();
    bytes += octets.length;
    if (bytes > bodyBytes) reject(tooMuch(bounds));
  };
  raw.on('data', count);
  return {
    broken,
    stop() {
      raw.off('data', count);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

type Target = { readonly file: FileHandle; readonly bounds: Bounds; readonly signal: AbortSignal };

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
    throw invalidFields([{ field: 'file', message: 'is missing: send it as a part with a file name' }]);
  return { ...given, fields };
}

async function store(part: MultipartFile, { file, bounds, signal }: Target): Promise<void> {
  if (part.fieldname !== 'file')
    throw invalidFields([{ field: part.fieldname.slice(0, 100), message: 'must not be a file' }]);
  let bytes = 0;
  await pipeline(
    part.file,
    async (octets: AsyncIterable<Buffer>) => {
      for await (const chunk of octets) bytes += (await file.write(chunk, 0, chunk.length, bytes)).bytesWritten;
    },
    { signal },
  );
  if (part.file.truncated) throw tooMuch(bounds);
}

/** What is wrong with the form is its sender's; what is wrong with the disk is ours. */
function faultOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError || 'syscall' in error) return error;
  if ('statusCode' in error && error.statusCode === 413)
    return new AppError('too_large', { message: `The form: ${error.message}` });
  return new AppError('invalid', { message: `The form cannot be read: ${error.message}`, cause: error });
}

/** Lets the answer go out and then ends a connection on which the body still comes. */
function endBody(raw: IncomingMessage, { lingerMs }: Bounds): void {
  raw.resume();
  const timer = setTimeout(() => {
    if (!raw.readableEnded) raw.destroy();
  }, lingerMs);
  raw.once('end', () => clearTimeout(timer));
}
