// Holds the import rules of .dependency-cruiser.cjs, and that the entries (files and sub-folders) of every folder have an
// order: no two of them import each other, directly or through others. Without its parser dependency-cruiser sees no
// module, finds nothing wrong and says so; hence every source file must have been seen.
import { existsSync, globSync } from 'node:fs';
import { cruise, format, type IModule } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const FOLDERS = ['src', 'client/src', 'deploy', 'examples', 'test', 'bench', 'proofs', 'scripts', 'web'].filter(
  (folder) => existsSync(folder),
);
/** Where entries have an order. Tests are no part of it: they may reach anywhere. */
const ORDERED = /^(src|web\/src)\/(?!.*\.test\.tsx?$)/;

/** Folder → entry → the entries of the same folder that it imports, each with one import as evidence. */
type Graph = Map<string, Map<string, Map<string, string>>>;

function graphOf(modules: readonly IModule[]): Graph {
  const graph: Graph = new Map();
  for (const { source, dependencies } of modules)
    for (const { resolved } of dependencies)
      if (ORDERED.test(source) && ORDERED.test(resolved)) addImport(graph, source, resolved);
  return graph;
}

/** Adds an import where the two paths part: there it leads from one entry of a folder to another. */
function addImport(graph: Graph, from: string, to: string): void {
  const [a, b] = [from.split('/'), to.split('/')];
  const depth = a.findIndex((name, i) => name !== b[i]);
  const [folder, entry, target] = [a.slice(0, depth).join('/'), a[depth], b[depth]];
  if (depth < 1 || entry === undefined || target === undefined) return;
  const entries = graph.get(folder) ?? new Map<string, Map<string, string>>();
  const targets = entries.get(entry) ?? new Map<string, string>();
  graph.set(folder, entries.set(entry, targets.set(target, `${from} → ${to}`)));
}

/** The imports that close a cycle among the entries of a folder; none when they can be written in one order. */
function cyclesIn(entries: ReadonlyMap<string, ReadonlyMap<string, string>>): string[] {
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
const cycles = [...graphOf(modules)].flatMap(([folder, entries]) =>
  cyclesIn(entries).map((evidence) => `${folder} has a cycle of entries: ${evidence}`),
);

if (output.summary.error > 0) console.error((await format(output, { outputType: 'err-long' })).output);
for (const cycle of cycles) console.error(cycle);
for (const file of unseen) console.error(`${file} was not seen: is the parser ("typescript", version 6) installed?`);
if (output.summary.error + cycles.length + unseen.length > 0) process.exitCode = 1;
else console.log(`${modules.length} modules, no violation`);
