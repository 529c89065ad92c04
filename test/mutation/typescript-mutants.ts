import ts from 'typescript';
import type { Edit } from './mutant.ts';

/** A mutant of a source file, with the node that it changes. */
export type NodeEdit = Edit & { readonly node: ts.Node };

/**
 * Makes the mutants of what a file computes: conditions, comparisons, arithmetic, calls that are left out, elements of
 * constant lists. Types, texts, log lines and the messages of errors are left alone.
 */
export function typescriptMutants(file: ts.SourceFile): NodeEdit[] {
  const edits: NodeEdit[] = [];
  const visit = (node: ts.Node): void => {
    if (isSilent(node)) return;
    for (const edit of mutantsOf(node, file)) edits.push({ ...edit, node });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return edits;
}

/** Whether nothing in a node decides anything: types, imports, log lines, errors. */
function isSilent(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isImportDeclaration(node)) return true;
  if (ts.isInterfaceDeclaration(node) || ts.isModuleDeclaration(node)) return true;
  if (ts.isNewExpression(node)) return node.expression.getText().endsWith('Error');
  return ts.isCallExpression(node) && /(^|\.)log\.\w+$/.test(node.expression.getText());
}

function mutantsOf(node: ts.Node, file: ts.SourceFile): Edit[] {
  if (ts.isBinaryExpression(node)) return ofOperator(node, file);
  if (ts.isIfStatement(node)) return [replace(node.expression, 'true'), replace(node.expression, 'false')];
  if (ts.isConditionalExpression(node)) return [replace(node.condition, 'true'), replace(node.condition, 'false')];
  if (ts.isExpressionStatement(node)) return ofStatement(node);
  if (ts.isPrefixUnaryExpression(node)) return ofPrefix(node);
  if (ts.isCallExpression(node)) return ofCall(node);
  if (ts.isArrayLiteralExpression(node)) return ofList(node);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [replace(node, 'false')];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [replace(node, 'true')];
  return [];
}

const replace = (node: ts.Node, put: string): Edit => ({ start: node.getStart(), end: node.getEnd(), put });

const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.PercentToken]: '*',
};

function ofOperator(node: ts.BinaryExpression, file: ts.SourceFile): Edit[] {
  const { left, operatorToken, right } = node;
  const put = OPERATORS[operatorToken.kind];
  if (put === undefined || [left, right].some(isText) || isWholeCondition(node)) return [];
  return [{ start: operatorToken.getStart(file), end: operatorToken.getEnd(), put }];
}

/** Whether an equality is all that an `if` asks: then `true` and `false` in its place say more than its opposite. */
const isWholeCondition = (node: ts.BinaryExpression): boolean =>
  /^[!=]==$/.test(node.operatorToken.getText()) &&
  (ts.isIfStatement(node.parent) || ts.isConditionalExpression(node.parent));

const isText = (node: ts.Expression): boolean =>
  ts.isStringLiteralLike(node)
    ? node.text !== '' && ts.isBinaryExpression(node.parent) && isSum(node.parent)
    : ts.isTemplateExpression(node);
const isSum = (node: ts.BinaryExpression): boolean => node.operatorToken.kind === ts.SyntaxKind.PlusToken;

/** Leaves out a statement that is there for its effect. */
function ofStatement(node: ts.ExpressionStatement): Edit[] {
  const call = ts.isAwaitExpression(node.expression) ? node.expression.expression : node.expression;
  if (!ts.isCallExpression(call) || isSilent(call)) return [];
  return [replace(node, ';')];
}

function ofPrefix(node: ts.PrefixUnaryExpression): Edit[] {
  const isSign = node.operator === ts.SyntaxKind.MinusToken && !ts.isNumericLiteral(node.operand);
  if (node.operator !== ts.SyntaxKind.ExclamationToken && !isSign) return [];
  return [replace(node, node.operand.getText())];
}

/** Methods that may be left out of a chain, because they return what they are called on in another form. */
const TRANSPARENT = new Set(['filter', 'sort', 'toSorted', 'reverse', 'slice', 'trim', 'toLowerCase', 'normalize']);
const SWAPPED: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['ceil', 'floor'],
]);

function ofCall({ expression }: ts.CallExpression): Edit[] {
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const { name } = expression;
  const put = SWAPPED.get(name.text);
  if (put !== undefined) return [replace(name, put)];
  if (!TRANSPARENT.has(name.text)) return [];
  return [{ start: expression.expression.getEnd(), end: expression.parent.getEnd(), put: '' }];
}

/** Leaves out each element of a constant list of a module. */
function ofList(node: ts.ArrayLiteralExpression): Edit[] {
  const { parent } = node;
  if (!ts.isVariableDeclaration(parent) || !ts.isSourceFile(parent.parent.parent.parent)) return [];
  return node.elements.map((element) => ({ start: element.getFullStart(), end: endOfElement(node, element), put: '' }));
}

/** The end of an element with its comma. */
function endOfElement(list: ts.ArrayLiteralExpression, element: ts.Expression): number {
  const rest = list.getSourceFile().text.slice(element.getEnd(), list.getEnd());
  return element.getEnd() + (/^\s*,/.exec(rest)?.[0].length ?? 0);
}
