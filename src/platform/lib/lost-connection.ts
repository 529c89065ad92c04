/** Socket errors after which a retry may succeed. */
const SOCKET = /\b(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)\b/;
/** PostgreSQL: class 08 (connection), and a server that stops, has crashed or is starting. */
const POSTGRESQL = /^(08...|57P0[123])$/;
/**
 * pg and its pool report these without a code; "after calling end" when the program ends before an upload does. A
 * restarting PostgreSQL briefly has no Unix socket; other missing files have the same code.
 */
const POOL =
  /timeout exceeded when trying to connect|Connection terminated|not queryable|Query read timeout|after calling end|connect ENOENT/i;

/**
 * Returns true if an error means that a server could not be reached or its connection was lost, and nothing about the
 * request: a socket error, PostgreSQL's classes for it, or a text of the driver. Of several errors in one, as for a
 * host name with several addresses, any counts. Of an error of which only the text is left, the text counts.
 */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isLostConnection);
  if (typeof error === 'string') return SOCKET.test(error) || POOL.test(error);
  const code = textOf(error, 'code');
  return SOCKET.test(code) || POSTGRESQL.test(code) || POOL.test(textOf(error, 'message'));
}

/** Returns a property of any thrown value if it is a text, and otherwise an empty one. */
export function textOf(error: unknown, key: 'code' | 'message'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}
