import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { isRecord } from '../lib/is-record.ts';

/** The error of each status in the examples; for a status with several errors, the most common one. */
const EXAMPLES: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'too_large',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  429: 'rate_limited',
  500: 'internal',
  502: 'bad_gateway',
  503: 'unavailable',
};
const DETAILS = [{ field: 'name', message: 'is required' }];
const REQUEST_ID = '01a1fd63-cf7c-7183-929b-46bc3bfe6f71';
const RETRY_AFTER_SECONDS = 2;

type Shape = 'Error' | 'WholesaleError';

/** The name under `components` of the response that an operation has for an error, as in `Error404`. */
const nameOf = (shape: Shape, status: number): string => `${shape}${status}`;

/** An error of this status as a client would receive it, in the shape of its API. */
function exampleOf(shape: Shape, status: number): object {
  const message = ERRORS[EXAMPLES[status] ?? 'invalid'][1];
  const retry = status === 429 || status === 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {};
  if (shape === 'WholesaleError') return { status: 'error', message, code: status, requestId: REQUEST_ID, ...retry };
  return {
    status,
    error: STATUS_CODES[status],
    message: status === 400 ? DETAILS.map(({ field, message: fault }) => `${field}: ${fault}`).join('; ') : message,
    requestId: REQUEST_ID,
    ...(status === 400 ? { details: DETAILS } : {}),
    ...retry,
  };
}

const responseOf = (shape: Shape, status: number): object => ({
  description: STATUS_CODES[status],
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${shape}` }, example: exampleOf(shape, status) },
  },
});

/**
 * Gives every error of these operations an example, and moves those without their own description into
 * `components`, which shortens the description by three quarters. Returns the responses for `components`.
 */
export function shareErrors(operations: readonly unknown[]): Record<string, object> {
  const shared: Record<string, object> = {};
  for (const operation of operations) {
    const responses = isRecord(operation) ? operation['responses'] : undefined;
    if (!isRecord(responses)) continue;
    for (const [key, response] of Object.entries(responses)) {
      const [status, media] = [Number(key), mediaOf(response)];
      const shape = shapeOf(media);
      if (shape === undefined || !isRecord(response) || media === undefined) continue;
      if (media['example'] === undefined && response['description'] === STATUS_CODES[status]) {
        shared[nameOf(shape, status)] ??= responseOf(shape, status);
        responses[key] = { $ref: `#/components/responses/${nameOf(shape, status)}` };
      } else media['example'] ??= exampleOf(shape, status);
    }
  }
  return Object.fromEntries(Object.entries(shared).toSorted(([a], [b]) => a.localeCompare(b)));
}

/** Returns the JSON content of a response, if it has one. */
function mediaOf(response: unknown): Record<string, unknown> | undefined {
  const content = isRecord(response) ? response['content'] : undefined;
  const media = isRecord(content) ? content['application/json'] : undefined;
  return isRecord(media) ? media : undefined;
}

function shapeOf(media: Record<string, unknown> | undefined): Shape | undefined {
  const reference = isRecord(media?.['schema']) ? media['schema']['$ref'] : undefined;
  if (reference === '#/components/schemas/Error') return 'Error';
  return reference === '#/components/schemas/WholesaleError' ? 'WholesaleError' : undefined;
}
