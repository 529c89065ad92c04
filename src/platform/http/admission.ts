import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { nulRefused } from './body.ts';
import { isPlaintext } from './plaintext.ts';
import { REQUEST_ID } from './request-id.ts';

/** Probed by machines on the network, which speak plain HTTP; the answers hold nothing that needs hiding. */
const PLAINTEXT_ALLOWED = '/health/';

export type Admission = {
  /** The headers of every answer. */
  stamp(request: FastifyRequest, reply: FastifyReply): void;
  /** Why a request goes no further, whatever it asks for; undefined lets it pass. */
  refusal(request: FastifyRequest): AppError | undefined;
};

export function createAdmission(config: Config, isTrusted: (address: string | undefined) => boolean): Admission {
  const secure = config.tls !== undefined || config.trustProxy.length > 0;
  return {
    stamp: (request, reply) => {
      reply.header(REQUEST_ID, request.id);
      reply.header('x-content-type-options', 'nosniff');
      if (secure) reply.header('strict-transport-security', 'max-age=31536000');
    },
    refusal: ({ raw: { socket, headers, httpVersion, url = '' } }) => {
      const arrival = {
        encrypted: 'encrypted' in socket,
        remoteAddress: socket.remoteAddress,
        forwardedProto: headers['x-forwarded-proto'],
      };
      if (isPlaintext(arrival, isTrusted) && !url.startsWith(PLAINTEXT_ALLOWED))
        return new AppError('plaintext_refused');
      if (headers.host === undefined && httpVersion === '1.1') return missingHost();
      return url.includes('%00') ? nulRefused('url') : undefined;
    },
  };
}

const missingHost = (): AppError => new AppError('invalid', { message: 'The header Host is missing' });
