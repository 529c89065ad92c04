/**
 * Writes client/src/schema.d.ts, the types of the API, from docs/openapi.json; --check fails if the file is out of date.
 * The client package and the console use them.
 */
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';
import { checkOrWrite } from './generated-file.ts';

const DESCRIPTION = new URL('../docs/openapi.json', import.meta.url);

/** A file in a form is a Blob for the sender; the generator would type it as a string. */
const FILE = ts.factory.createTypeReferenceNode('Blob');

const types = await openapiTS(DESCRIPTION, {
  // A parameter with a default is optional.
  defaultNonNullable: false,
  transform: ({ format }) => (format === 'binary' ? FILE : undefined),
});
await checkOrWrite(new URL('../client/src/schema.d.ts', import.meta.url), `${COMMENT_HEADER}${astToString(types)}`);
