/**
 * Array parameters for unnest(), written as PostgreSQL array literals. The driver's own conversion costs about a
 * microsecond an element, which a batch of 1,000 rows and ten columns cannot afford.
 */
type Scalar = string | number | boolean | null;

/** Ids, numbers, booleans and ISO dates: nothing in them needs quoting. */
export const plainArray = (values: readonly Scalar[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;

const NEEDS_ESCAPE = /["\\]/;
const quote = (text: string): string => `"${NEEDS_ESCAPE.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;

/** Any text, quotes and backslashes included. A NUL is no character of PostgreSQL's: callers refuse it before. */
export const textArray = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : quote(value))).join(',')}}`;
