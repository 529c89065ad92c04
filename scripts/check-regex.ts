// Holds that every regular expression of the program takes linear time, whatever it is matched against: each literal,
// each `new RegExp` and each JSON-Schema `pattern` of the server, the console and the client, and each pattern of
// docs/openapi.json. Files may be named on the command line instead. A fault is reported with its place, the complexity
// and a text that attacks the expression.
//
// recheck decides most expressions with automata theory, and the rest (back references, look-around) by trying out
// attacks. It runs its program for this machine, or in JavaScript where there is none.
import { globSync, readFileSync } from 'node:fs';
import recheck from 'recheck';
import ts from 'typescript';

const SOURCES = ['src/**/*.{ts,tsx}', 'web/src/**/*.{ts,tsx}', 'client/src/**/*.ts'];
const DESCRIPTION = 'docs/openapi.json';

/** Expressions that the checker cannot decide, as `file: source`, and why they are linear nevertheless. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'src/reporting/exports/file/sheet-rows.ts: [[\\p{Cc}\\ufffe\\uffff]--[\\t\\n\\r]]':
    'the checker does not know the flag v; a single set of characters is linear',
};

const NUMBERING = 'from the metadata of libphonenumber: choices of counted digits, for at most 50 digits';

/** Expressions that are made from other values, as `file: code`, and why what they are made from keeps them linear. */
const COMPOSED: Readonly<Record<string, string>> = {
  'src/platform/http/methods.ts: `^${source}/?$`': 'from our own routes: segments that exclude slashes, and one rest',
  'src/engagement/contacts/imports/reading/xml.ts: `(?:^|[\\\\s:])${name}\\\\s*=\\\\s*(?:"([^"]*)"|\'([^\']*)\')`':
    'name is a constant word; quotes end at the next quote',
  'src/platform/http/validation/forgive.ts: String(pattern)':
    'the pattern of one of our own schemas, which is checked where it is written',
  'src/messaging/sending/schema.ts: `^([+0-9 ().-]{3,50}|${USER_ID_FORM})$`':
    'is checked as it stands in docs/openapi.json',
  'src/platform/lib/phone/numbering-plans.ts: whole(type.pattern())': NUMBERING,
  'src/platform/lib/phone/numbering-plans.ts: `^(?:${pattern})$`': NUMBERING,
  'src/platform/lib/phone/numbering-plans.ts: `^(?:${pattern})`': NUMBERING,
  "src/simulators/rbm/check.ts: `^(${values.join('|')})$`": 'a choice of constant words',
  'src/reporting/stats/schema.ts: `^(${MODE})(,(${MODE}))*$`': 'is checked as it stands in docs/openapi.json',
  'src/engagement/campaigns/listing/schema.ts: `^${MODE}(,${MODE}){0,20}$`':
    'is checked as it stands in docs/openapi.json',
  'src/engagement/inbox/schema.ts: `^${CHANNEL_LIST}(,${CHANNEL_LIST}){0,9}$`':
    'is checked as it stands in docs/openapi.json',
  'src/engagement/inbox/schema.ts: `^[-+ ]?(${ORDER_LIST})$`': 'is checked as it stands in docs/openapi.json',
};

type Expression = {
  readonly file: string;
  readonly line: number;
  /** The pattern, or null if its code is not constant. */
  readonly source: string | null;
  readonly flags: string;
  readonly code: string;
};

/** Ajv compiles patterns with this flag. */
const SCHEMA_FLAGS = 'u';

function expressionsOf(file: string): Expression[] {
  const options = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
  const root = ts.createSourceFile(file, readFileSync(file, 'utf8'), options, true);
  const constants = constantsOf(root);
  const found: Expression[] = [];
  const add = (node: ts.Node, source: string | null, flags: string): void => {
    const line = root.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    found.push({ file, line, source, flags, code: node.getText() });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      add(node, node.text.slice(1, end), node.text.slice(end + 1));
    }
    const { argument, flags } = constructed(node);
    if (argument && !ts.isRegularExpressionLiteral(argument)) add(argument, valueOf(argument, constants), flags);
    const pattern = schemaPattern(node);
    if (pattern) add(pattern, valueOf(pattern, constants), SCHEMA_FLAGS);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

/** The pattern and the flags of `new RegExp(…)` and `RegExp(…)`. */
function constructed(node: ts.Node): { readonly argument?: ts.Expression | undefined; readonly flags: string } {
  if (!(ts.isNewExpression(node) || ts.isCallExpression(node)) || node.expression.getText() !== 'RegExp')
    return { flags: '' };
  const [argument, flags] = node.arguments ?? [];
  return { argument, flags: flags && ts.isStringLiteralLike(flags) ? flags.text : '' };
}

/** The text of a `pattern` in a schema. Regular expressions and functions of that name are something else. */
function schemaPattern(node: ts.Node): ts.Expression | undefined {
  if (!ts.isPropertyAssignment(node) || node.name.getText() !== 'pattern') return undefined;
  const { initializer } = node;
  return ts.isRegularExpressionLiteral(initializer) || ts.isArrowFunction(initializer) ? undefined : initializer;
}

type Constants = ReadonlyMap<string, ts.Expression>;

/** The constants of a file, by name. */
function constantsOf(root: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>();
  for (const statement of root.statements)
    if (ts.isVariableStatement(statement))
      for (const { name, initializer } of statement.declarationList.declarations)
        if (initializer) constants.set(name.getText(), initializer);
  return constants;
}

/** The value of a constant text; null if it is made from something else than constant texts of the same file. */
function valueOf(node: ts.Expression, constants: Constants): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) return valueOfTemplate(node, constants, ({ text }) => text);
  if (ts.isTaggedTemplateExpression(node)) return valueOfRaw(node, constants);
  if (ts.isCallExpression(node)) return valueOfReplace(node, constants);
  const constant = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
  return constant ? valueOf(constant, constants) : null;
}

type TextOf = (part: ts.TemplateLiteralLikeNode) => string;

function valueOfTemplate(node: ts.TemplateExpression, constants: Constants, textOf: TextOf): string | null {
  const values = node.templateSpans.map(({ expression }) => valueOf(expression, constants));
  if (values.includes(null)) return null;
  return textOf(node.head) + node.templateSpans.map(({ literal }, i) => `${values[i]}${textOf(literal)}`).join('');
}

/** `String.raw` and `raw`, which takes what is written. */
function valueOfRaw({ tag, template }: ts.TaggedTemplateExpression, constants: Constants): string | null {
  if (!/^(String\.)?raw$/.test(tag.getText())) return null;
  const textOf: TextOf = ({ rawText }) => rawText ?? '';
  return ts.isTemplateExpression(template) ? valueOfTemplate(template, constants, textOf) : textOf(template);
}

/** `text.replace('a', 'b')` of constant texts. */
function valueOfReplace({ expression, arguments: given }: ts.CallExpression, constants: Constants): string | null {
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== 'replace') return null;
  const [text, from, to] = [expression.expression, ...given].map((each) => valueOf(each, constants));
  return text && from && typeof to === 'string' ? text.replace(from, to) : null;
}

/** The patterns of the API description, each once. */
function describedPatterns(): Expression[] {
  const text = readFileSync(DESCRIPTION, 'utf8');
  const places = new Map<string, number>();
  for (const [at, line] of text.split('\n').entries()) {
    const pattern = /^\s*"pattern": (".*"),?$/.exec(line)?.[1];
    if (pattern !== undefined && !places.has(pattern)) places.set(pattern, at + 1);
  }
  return [...places].map(([pattern, line]) => {
    const source: unknown = JSON.parse(pattern);
    return { file: DESCRIPTION, line, source: String(source), flags: SCHEMA_FLAGS, code: pattern };
  });
}

/** Limits are steps instead of time, so that a busy machine gives the same verdict. */
const PARAMETERS = { maxRepeatCount: 10_000, attackTimeout: null, incubationTimeout: null, timeout: 120_000 };

type Verdict = Awaited<ReturnType<typeof recheck.check>>;
const verdicts = new Map<string, Promise<Verdict>>();

function verdictOf(source: string, flags: string): Promise<Verdict> {
  const key = `/${source}/${flags}`;
  const verdict = verdicts.get(key) ?? recheck.check(source, flags, PARAMETERS);
  verdicts.set(key, verdict);
  return verdict;
}

const used = new Set<string>();

/** Whether a table has an entry for the expression, which then counts as used. */
function isListed(table: Readonly<Record<string, string>>, key: string): boolean {
  used.add(key);
  return key in table;
}

/** What is wrong with an expression; null if nothing is. */
async function faultOf({ file, source, flags, code }: Expression): Promise<string | null> {
  if (source === null)
    return isListed(COMPOSED, `${file}: ${code}`) ? null : `is made from other values: ${code}. List it with a reason`;
  const verdict = await verdictOf(source, flags);
  if (verdict.status === 'safe') return null;
  if (verdict.status === 'vulnerable')
    return `/${source}/${flags} is not linear (${verdict.complexity.summary}): ${verdict.attack.pattern}`;
  if (isListed(ACCEPTED, `${file}: ${source}`)) return null;
  return `/${source}/${flags} cannot be decided (${verdict.error.kind}). Simplify it, or list it with a reason`;
}

const isTest = (file: string): boolean => /\.test\.tsx?$/.test(file);

const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync(SOURCES, { exclude: isTest });
const expressions = [...files.flatMap(expressionsOf), ...(named.length > 0 ? [] : describedPatterns())];
let faults = 0;
const report = (fault: string): void => {
  faults++;
  console.error(fault);
};
// One after another: side by side, they would use up each other's time.
for (const expression of expressions) {
  const fault = await faultOf(expression);
  if (fault !== null) report(`${expression.file}:${expression.line} ${fault}`);
}
const stale = Object.keys({ ...ACCEPTED, ...COMPOSED }).filter((key) => !used.has(key));
if (named.length === 0) for (const key of stale) report(`scripts/check-regex.ts lists what no longer exists: ${key}`);
if (faults === 0) console.log(`${expressions.length} regular expressions, ${verdicts.size} different ones, all linear`);
process.exit(faults > 0 ? 1 : 0);
