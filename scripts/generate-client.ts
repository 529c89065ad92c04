/**
 * Writes client/src/schema.d.ts, the types of the interface, from docs/openapi.json; --check fails when the file is out
 * of date. They serve the client package and the console.
 */
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';
import { checkOrWrite } from './generated-file.ts';

const DESCRIPTION = new URL('../docs/openapi.json', import.meta.url);

/** A file in a form is a Blob to who sends it; the generator would call it a string. */
const FILE = ts.factory.createTypeReferenceNode('Blob');

const types = await openapiTS(DESCRIPTION, {
  // What has a default may be left out.
  defaultNonNullable: false,
  transform: ({ format }) => (format === 'binary' ? FILE : undefined),
});
await checkOrWrite(new URL('../client/src/schema.d.ts', import.meta.url), `${COMMENT_HEADER}${astToString(types)}`);
