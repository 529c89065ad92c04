import type { FastifyRequest } from 'fastify';

/** The header under which every answer carries our id (specification, "General behaviour" 1). */
export const REQUEST_ID = 'x-request-id';

/** The client's own id, for the log only: printable ASCII, at most 128 characters, else left out. */
export function clientRequestId(request: FastifyRequest): string | undefined {
  const id = request.headers[REQUEST_ID];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** The pattern of the matched route; the URL itself may hold ids, numbers and keys. */
export const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? 'none';
