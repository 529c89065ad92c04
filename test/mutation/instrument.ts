import ts from 'typescript';
import { applyEdit, type Edit, type Host, hostKey, type Mutant } from './mutant.ts';

declare global {
  /** The id of the mutant that runs; 0 for the program as it is. */
  var activeMutant: number;
  /** The hosts that ran since this was emptied. */
  var calledHosts: Set<string>;
}

/** Finds the host of a node; undefined for what stands in none, such as a statement of the module. */
export function hostOf(node: ts.Node): Host | undefined {
  const found = ts.findAncestor(node, isHost);
  if (found === undefined) return undefined;
  const isStatic = ts.findAncestor(found, ts.isFunctionLike) === undefined;
  return { start: found.getStart(), end: found.getEnd(), isBlock: ts.isBlock(found), isStatic };
}

function isHost(node: ts.Node): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  if (ts.isParameter(parent) || ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isVariableDeclaration(parent))
    return parent.initializer === node && ts.isSourceFile(parent.parent.parent.parent);
  return ts.isFunctionLike(parent) && 'body' in parent && parent.body === node;
}

/**
 * Returns the text of a file with all its mutants in it: each host notes in `calledHosts` that it runs, and decides by
 * `activeMutant` in which form.
 */
export function instrument(text: string, mutants: readonly Mutant[]): string {
  const hosts = Map.groupBy(mutants, ({ host }) => host.start);
  const inserts = [...hosts.values()].flatMap((inside) => insertsOf(text, inside));
  // From the end, so that the places before stay valid. Of two at one place, the outer host opens first and closes last.
  return inserts
    .sort((a, b) => b.start - a.start || a.size - b.size)
    .reduce((result, insert) => applyEdit(result, insert), text);
}

type Insert = Edit & {
  /** Decides between inserts at one place: the last one applied comes to stand first. */ readonly size: number;
};

function insertsOf(text: string, mutants: readonly Mutant[]): Insert[] {
  const [first] = mutants;
  if (first === undefined) return [];
  const { file, host } = first;
  const size = host.end - host.start;
  const at = (place: number, put: string, order: number): Insert => ({ start: place, end: place, put, size: order });
  const note = `globalThis.calledHosts.add(${JSON.stringify(hostKey(file, host))})`;
  const forms = mutants.map(({ id, start, end, put }) => ({
    id,
    form: applyEdit(text.slice(host.start, host.end), { start: start - host.start, end: end - host.start, put }),
  }));
  if (host.isBlock) {
    const cases = forms.map(({ id, form }) => `case ${id}: {${form}} return;`).join('');
    return [at(host.start + 1, `${note}; switch (globalThis.activeMutant) {${cases}}`, size)];
  }
  const choices = forms.map(({ id, form }) => `globalThis.activeMutant === ${id} ? (${form}) : `).join('');
  return [at(host.start, `(${note}, ${choices}(`, size), at(host.end, '))', -size)];
}
