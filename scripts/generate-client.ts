/**
 * Writes client/src/schema.d.ts, the types of the API, from docs/openapi.json; --check fails if the file is out of date.
 * The client package and the console use them.
 */
import { readFile } from 'node:fs/promises';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';
import { checkOrWrite } from './generated-file.ts';

const DESCRIPTION = new URL('../docs/openapi.json', import.meta.url);

/** A file in a form is a Blob for the sender; the generator would type it as a string. */
const FILE = ts.factory.createTypeReferenceNode('Blob');

/** Headers that browsers, or the console for all its requests, add: callers do not give them. */
const ADDED_HEADERS: readonly unknown[] = ['X-Heliograph-Console', 'Origin'];

/** Types need no examples, and every program that uses the client would have to read them. */
const reduced = (key: string, value: unknown): unknown => {
  if (key === 'parameters' && Array.isArray(value)) return value.filter(({ name }) => !ADDED_HEADERS.includes(name));
  return (key === 'example' || key === 'examples') && !isSchema(value) ? undefined : value;
};
/** True for the schema of a property that has such a name. */
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && SCHEMA_TYPES.test(String(value.type));
const SCHEMA_TYPES = /^(object|array|string|number|integer|boolean)$/;

const description = JSON.parse(await readFile(DESCRIPTION, 'utf8'), reduced);
const types = await openapiTS(description, {
  // A parameter with a default is optional.
  defaultNonNullable: false,
  transform: ({ format }) => (format === 'binary' ? FILE : undefined),
});
await checkOrWrite(new URL('../client/src/schema.d.ts', import.meta.url), `${COMMENT_HEADER}${astToString(types)}`);
