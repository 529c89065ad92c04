// Checks the import rules of .dependency-cruiser.cjs, and that no feature of the server or the console imports itself through
// others. Without its parser dependency-cruiser sees no module and finds nothing wrong; hence every source file must have
// been seen.
import { existsSync, globSync } from 'node:fs';
import { cruise, format, type IModule } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const FOLDERS = ['src', 'client/src', 'deploy', 'examples', 'test', 'bench', 'proofs', 'scripts', 'web'].filter(
  (folder) => existsSync(folder),
);
/** Files of features. `core` has a separate rule; tests may reach anywhere. */
const FEATURE = /^(src|web\/src)\/(?!core\/)([^/]+)\/(?!.*\.test\.tsx?$)/;

/** Feature → the features that it imports, each with one import as evidence. */
type Graph = Map<string, Map<string, string>>;

function graphOf(modules: readonly IModule[]): Graph {
  const graph: Graph = new Map();
  for (const { source, dependencies } of modules)
    for (const { resolved } of dependencies) {
      const [from, to] = [FEATURE.exec(source)?.[0], FEATURE.exec(resolved)?.[0]];
      if (from === undefined || to === undefined || from === to) continue;
      const targets = graph.get(from) ?? new Map<string, string>();
      graph.set(from, targets.set(to, `${source} → ${resolved}`));
    }
  return graph;
}

/** Lists the imports that close a cycle. */
function cyclesIn(entries: Graph): string[] {
  const done = new Set<string>();
  const faults: string[] = [];
  const visit = (entry: string, path: readonly string[]): void => {
    if (done.has(entry)) return;
    for (const [target, evidence] of entries.get(entry) ?? [])
      if (path.includes(target) || target === entry) faults.push(evidence);
      else visit(target, [...path, entry]);
    done.add(entry);
  };
  for (const entry of entries.keys()) visit(entry, [entry]);
  return faults;
}

const options = await extractOptions('./.dependency-cruiser.cjs');
const { output } = await cruise(FOLDERS, options);
if (typeof output === 'string') throw new Error('expected the result, not a report');
const modules = output.modules.filter(({ source }) => FOLDERS.some((folder) => source.startsWith(`${folder}/`)));

const seen = new Set(modules.map(({ source }) => source));
const files = globSync(
  FOLDERS.map((folder) => `${folder}/**/*.{ts,tsx}`),
  { exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path) },
);
const unseen = files.filter((file) => !seen.has(file));
const cycles = cyclesIn(graphOf(modules));

if (output.summary.error > 0) console.error((await format(output, { outputType: 'err-long' })).output);
for (const cycle of cycles) console.error(`cycle of features: ${cycle}`);
for (const file of unseen) console.error(`${file} was not seen: is the parser ("typescript", version 6) installed?`);
if (output.summary.error + cycles.length + unseen.length > 0) process.exitCode = 1;
else console.log(`${modules.length} modules, no violation`);
