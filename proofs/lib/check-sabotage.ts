// Loads the sabotage modules that the command line names, without a program, and prints what is wrong with each as JSON,
// or null: a replaced text that is not in its file exactly once, or a replacement that does not fit its surroundings.
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { faultySources } from '../sabotage/replace.ts';

/** "Cannot find name", the same with a suggestion, and the same of a shorthand property. */
const CANNOT_FIND_NAME = [2304, 2552, 18004];

const faults: Record<string, string | null> = {};
for (const path of process.argv.slice(2)) {
  faultySources.clear();
  faults[path] = await import(pathToFileURL(path).href).then(findFault).catch(String);
}
console.log(JSON.stringify(faults));

/** What is wrong with the changed files: broken syntax, or a name that the program no longer has. */
function findFault(): string | null {
  for (const [url, source] of faultySources) {
    const { syntaxErrors, unknownNames } = inspect(source);
    if (syntaxErrors.length > 0) return `${url}: ${syntaxErrors.join(', ')}`;
    const added = unknownNames.difference(inspect(readFileSync(fileURLToPath(url), 'utf8')).unknownNames);
    if (added.size > 0) return `${url} does not declare ${[...added].join(', ')}`;
  }
  return null;
}

/** Checks one file without its imports. Unknown are names that neither the file declares or imports, nor Node. */
function inspect(source: string): { syntaxErrors: string[]; unknownNames: Set<string> } {
  const file = ts.createSourceFile('a.ts', source, ts.ScriptTarget.Latest);
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost({}),
    getSourceFile: (name) => (name === 'a.ts' ? file : undefined),
  };
  const program = ts.createProgram(['a.ts'], { noResolve: true, noLib: true, types: [] }, host);
  const syntaxErrors = program
    .getSyntacticDiagnostics(file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  const names = program
    .getSemanticDiagnostics(file)
    .filter(({ code }) => CANNOT_FIND_NAME.includes(code))
    .map(({ start = 0, length }) => source.slice(start, start + (length ?? 0)));
  return { syntaxErrors, unknownNames: new Set(names.filter((name) => !(name in globalThis))) };
}
