import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { nulError } from './body.ts';
import { isPlaintext } from './plaintext.ts';
import { REQUEST_ID } from './request-id.ts';
import { foreignPageError } from './same-origin.ts';

/** The Cache-Control of all responses that do not have their own. */
export const NOT_STORED = 'no-store';

/** Path prefix that machines on the network probe over plain HTTP; the responses contain nothing confidential. */
const PLAINTEXT_ALLOWED_PREFIX = '/health/';

/** Checks that apply to every request, whatever its route. */
export type Admission = {
  /** Sets the headers that every response has. */
  stamp(request: FastifyRequest, reply: FastifyReply): void;
  /** Returns the reason to reject a request; undefined if it may proceed. */
  refusal(request: FastifyRequest): AppError | undefined;
};

/**
 * Creates the checks: plaintext from the network, a missing Host, NUL in the URL, and changes requested by a page of
 * another origin are rejected.
 */
export function createAdmission(config: Config, isTrusted: (address: string | undefined) => boolean): Admission {
  const secure = config.tls !== undefined || config.trustProxy.length > 0;
  return {
    stamp: (request, reply) => {
      // A shared cache may store anything that does not forbid it, and does not know about keys in X-API-Key (RFC 9111,
      // 3). Routes whose responses may be stored set the header themselves.
      reply.header('cache-control', NOT_STORED);
      reply.header(REQUEST_ID, request.id);
      reply.header('x-content-type-options', 'nosniff');
      if (secure) reply.header('strict-transport-security', 'max-age=31536000');
    },
    refusal: (request) => {
      const { socket, headers, httpVersion, url = '' } = request.raw;
      const arrival = {
        encrypted: 'encrypted' in socket,
        remoteAddress: socket.remoteAddress,
        forwardedProto: headers['x-forwarded-proto'],
      };
      if (isPlaintext(arrival, isTrusted) && !url.startsWith(PLAINTEXT_ALLOWED_PREFIX))
        return new AppError('plaintext_refused');
      if (headers.host === undefined && httpVersion === '1.1') return missingHost();
      return url.includes('%00') ? nulError('url') : foreignPageError(request);
    },
  };
}

const missingHost = (): AppError => new AppError('invalid', { message: 'The Host header is missing' });
