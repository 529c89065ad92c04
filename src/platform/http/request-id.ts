import type { FastifyRequest } from 'fastify';
import { readTraceContext } from '../traceparent.ts';

/** The header in which every response carries our request id (specification, "General behaviour" 1). */
export const REQUEST_ID = 'x-request-id';

/**
 * Returns the client's own request id, for the log only; undefined unless it is 1 to 128 printable ASCII characters.
 */
function clientRequestId(request: FastifyRequest): string | undefined {
  const id = request.headers[REQUEST_ID];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** Returns the pattern of the matched route, for logs and metrics: the URL may contain ids, phone numbers and keys. */
export const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? 'none';

/**
 * The fields that identify a request in the log; its place in the trace of its caller only if the caller records it.
 */
export const requestFields = (request: FastifyRequest) => ({
  requestId: request.id,
  clientRequestId: clientRequestId(request),
  ...traceFields(request),
  method: request.method,
  route: routeOf(request),
});

function traceFields({ headers }: FastifyRequest) {
  const context = readTraceContext(headers['traceparent'], undefined);
  return context?.sampled ? { traceId: context.traceId, spanId: context.spanId } : {};
}
