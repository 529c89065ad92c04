import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { hostOf } from './instrument.ts';
import type { Edit, Mutant } from './mutant.ts';
import { maskSql, sqlMutants } from './sql-mutants.ts';
import { type NodeEdit, typescriptMutants } from './typescript-mutants.ts';

/** Makes the mutants of an area's files, in their order: of their TypeScript, and of the SQL in their templates. */
export const makeMutants = (files: readonly string[]): Mutant[] =>
  files.flatMap(mutantsOfFile).map((mutant, index) => ({ ...mutant, id: index + 1 }));

function mutantsOfFile(file: string): Omit<Mutant, 'id'>[] {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = text.split('\n');
  const seen = new Set<string>();
  return [...typescriptMutants(source), ...statementsOf(source).flatMap((node) => ofStatement(node, text))]
    .filter(({ start, end, put }) => isNew(seen, `${start}/${end}/${put}`) && text.slice(start, end) !== put)
    .flatMap(({ node, start, end, put }) => {
      const host = hostOf(node);
      if (host === undefined) return [];
      const found = text.slice(start, end);
      const { line } = source.getLineAndCharacterOfPosition(start + leadingSpace(found));
      const code = (lines[line] ?? '').trim();
      return [{ file, start, end, put, host, line: line + 1, code, change: describe(found, put) }];
    })
    .sort((a, b) => a.start - b.start);
}

const isNew = (seen: Set<string>, key: string): boolean => !seen.has(key) && seen.add(key) !== undefined;

const leadingSpace = (text: string): number => text.length - text.trimStart().length;

function describe(found: string, put: string): string {
  const [from, to] = [found, put].map((text) => text.replace(/\s+/g, ' ').trim());
  return to === '' || to === ';' ? `without ${from}` : `${from} → ${to}`;
}

type Statement = ts.TemplateLiteral;

/** The templates of SQL: those with the tag `sql`, and the arguments of `raw`. */
function statementsOf(source: ts.SourceFile): Statement[] {
  const found: Statement[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') found.push(node.template);
    if (ts.isCallExpression(node) && node.expression.getText() === 'raw')
      found.push(...node.arguments.filter(isTemplate));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const isTemplate = (node: ts.Node): node is Statement => ts.isTemplateLiteral(node);

/** The mutants of one statement. What its parameters compute is TypeScript, and has mutants as such. */
function ofStatement(node: Statement, text: string): NodeEdit[] {
  const from = node.getStart() + 1;
  let masked = text.slice(from, node.getEnd() - 1);
  for (const { start, end } of parametersOf(node))
    masked = masked.slice(0, start - from) + 'P'.repeat(end - start) + masked.slice(end - from);
  return sqlMutants(maskSql(masked)).map((edit) => ({ ...edit, start: from + edit.start, end: from + edit.end, node }));
}

/** Where the parameters of a template stand, with their `${` and `}`. */
function parametersOf(node: Statement): Pick<Edit, 'start' | 'end'>[] {
  if (!ts.isTemplateExpression(node)) return [];
  return node.templateSpans.map(({ expression, literal }) => ({
    start: expression.getFullStart() - 2,
    end: literal.getStart() + 1,
  }));
}
