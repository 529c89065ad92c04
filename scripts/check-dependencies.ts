// Holds the import rules of .dependency-cruiser.cjs. Without its parser dependency-cruiser sees no module, finds
// nothing wrong and says so: hence the count.
import { existsSync } from 'node:fs';
import { cruise, format } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const MIN_MODULES = 80;

const options = await extractOptions('./.dependency-cruiser.cjs');
const folders = ['src', 'client/src', 'examples', 'test', 'bench', 'proofs', 'scripts', 'web'].filter((folder) =>
  existsSync(folder),
);
const { output } = await cruise(folders, options);
if (typeof output === 'string') throw new Error('expected the result, not a report');

const seen = output.modules.filter(({ source }) => folders.some((folder) => source.startsWith(`${folder}/`))).length;
if (output.summary.error > 0) console.error((await format(output, { outputType: 'err-long' })).output);
if (seen < MIN_MODULES)
  console.error(`Only ${seen} modules were seen: is the parser ("typescript", version 6) installed?`);
if (output.summary.error > 0 || seen < MIN_MODULES) process.exitCode = 1;
else console.log(`${seen} modules, no violation`);
