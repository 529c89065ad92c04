import type { FastifyRequest } from 'fastify';

/** The header in which every answer carries our request id (specification, "General behaviour" 1). */
export const REQUEST_ID = 'x-request-id';

/**
 * Returns the client's own request id, for the log only; undefined unless it is 1 to 128 printable ASCII characters.
 */
export function clientRequestId(request: FastifyRequest): string | undefined {
  const id = request.headers[REQUEST_ID];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** Returns the pattern of the matched route, for logs and metrics: the URL may contain ids, phone numbers and keys. */
export const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? 'none';
