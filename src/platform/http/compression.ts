import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyRequest } from 'fastify';
import type { App } from './app.ts';

/** Encodings in order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
type Encoding = (typeof ENCODINGS)[number];

/** Shorter responses fit in a few packets as they are: compressing them would cost more than it saves. */
const MIN_BYTES = 8 * 1024;

/** A better ratio would cost far more time: at 11, brotli needs seconds for a megabyte. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const GZIP = { level: 6 };

const brotliOctets = promisify(brotliCompress);
const gzipOctets = promisify(gzip);

/** Returns the encoding in which a client prefers a large response; undefined for one that accepts none of ours. */
export const encodingFor = ({ headers }: Pick<FastifyRequest, 'headers'>): Encoding | undefined =>
  negotiate(String(headers['accept-encoding'] ?? ''), [...ENCODINGS]) ?? undefined;

/** Compresses a response outside the event loop, in Node's thread pool. */
export const compress = (octets: string | Buffer, encoding: Encoding): Promise<Buffer> =>
  encoding === 'br' ? brotliOctets(octets, BROTLI) : gzipOctets(octets, GZIP);

/**
 * Compresses JSON responses of 8 KiB or more for clients that accept brotli or gzip. Streams pass unchanged: files keep
 * their ranges and ETags, and live views are not delayed. Call it before the routes are registered.
 *
 * Compressed responses cannot be used to guess a secret by their length: no other site can obtain a response made with
 * a user's credentials, since the cookie is SameSite=Strict and keys travel in a header.
 */
export function compressAnswers(app: App): void {
  app.addHook('onRoute', (route) => {
    // A hook of the route runs after those of the server, which store the response or add to it.
    route.onSend = [route.onSend ?? []].flat().concat((request, reply, payload: unknown, done) => {
      if (!isLarge(payload) || request.method === 'HEAD' || reply.hasHeader('content-encoding'))
        return done(null, payload);
      if (!String(reply.getHeader('content-type')).startsWith('application/json')) return done(null, payload);
      reply.header('vary', 'Accept-Encoding');
      const encoding = encodingFor(request);
      if (encoding === undefined) return done(null, payload);
      reply.removeHeader('content-length').header('content-encoding', encoding);
      compress(payload, encoding).then((octets) => done(null, octets), done);
    });
  });
}

const isLarge = (payload: unknown): payload is string | Buffer =>
  (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= MIN_BYTES;
