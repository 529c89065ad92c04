import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../errors.ts';
import type { Storage } from '../../storage/storage.ts';
import { ErrorOut, ref } from '../schema.ts';
import { readRange } from './range.ts';

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

const octets = (options: { readonly description: string; readonly examples?: string[] }) =>
  Type.Unsafe<Readable>(Type.String({ format: 'binary', ...options }));

/** The responses of a route that ends in `sendFile`, for its schema. */
export const FILE_ANSWERS = {
  200: octets({ description: 'The file' }),
  206: octets({ description: 'The range of the file in the header Range', examples: ['(octets)'] }),
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
