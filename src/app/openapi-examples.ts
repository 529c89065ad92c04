import { readFileSync } from 'node:fs';
import type { RecordedExamples } from '../platform/http/openapi-examples.ts';

/** Written by scripts/generate-api-examples.ts from the responses of a running program. */
const FILE = new URL('openapi-examples.json', import.meta.url);

/** Reads the recorded examples of the API description. It is 300 kB, so it is read only with the description itself. */
export const readExamples = (): RecordedExamples => JSON.parse(readFileSync(FILE, 'utf8'));
