/**
 * A value of an array parameter for unnest(). The arrays are written as PostgreSQL array literals here, since the
 * driver's own conversion costs about a microsecond per element, too much for a batch of 1,000 rows and ten columns.
 */
type Scalar = string | number | boolean | null;

/** Writes an array of ids, numbers, booleans or ISO dates, none of which needs quoting. */
export const plainArray = (values: readonly Scalar[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;

const NEEDS_ESCAPE = /["\\]/;
const quote = (text: string): string => `"${NEEDS_ESCAPE.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;

/**
 * Writes an array of any texts, quotes and backslashes included. PostgreSQL has no NUL, so callers must reject it
 * before.
 */
export const textArray = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : quote(value))).join(',')}}`;
