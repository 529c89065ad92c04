/**
 * Writes src/openapi-examples.json: the responses of the program, after its first start, to the example requests of
 * all operations. A response that still has its recorded shape is left as it is, so that the file changes only with the
 * API. Run it before generate-openapi.ts, which reads the file.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { buildApi } from '../src/api.ts';
import type { RecordedExample } from '../src/core/http/openapi.ts';
import { createNormaliser } from '../test/support/api-examples/normalise.ts';
import { operationsOf, play } from '../test/support/api-examples/play.ts';
import { startFirstTime } from '../test/support/api-examples/program.ts';
import { record, sameShape } from '../test/support/api-examples/record.ts';
import { storyOf } from '../test/support/api-examples/story/story.ts';
import { apiDeps } from '../test/support/http/api.ts';

const FILE = new URL('../src/openapi-examples.json', import.meta.url);

const app = buildApi(apiDeps());
await app.ready();
const operations = operationsOf(JSON.parse(JSON.stringify(app.swagger())));
await app.close();

const before: Record<string, RecordedExample> = JSON.parse(await readFile(FILE, 'utf8'));
const after: Record<string, RecordedExample> = {};
const faults: string[] = [];
await using stage = await startFirstTime();
const normalise = createNormaliser(Date.now());
await play(storyOf(stage), operations, stage, (played) => {
  const { step, status, expected, answer } = played;
  const { operation, name } = step;
  if (status !== expected) faults.push(`${operation}: ${status} instead of ${expected}: ${JSON.stringify(answer)}`);
  if (name !== undefined) return;
  const [now, earlier] = [record(played, normalise), before[operation]];
  after[operation] = earlier !== undefined && sameShape(now, earlier) ? earlier : now;
});
if (faults.length === 0) await writeFile(FILE, `${JSON.stringify(after, null, 1)}\n`);
else {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
}
