import type { Edit } from './mutant.ts';

/**
 * Makes the mutants of one statement, or of a fragment of one. They fit its structure, so that PostgreSQL accepts nearly
 * all of them: a condition less, a comparison at its boundary or turned round, a lock or its order less.
 *
 * @param text the statement with equally long names in place of parameters, texts and comments (`maskSql`)
 */
export function sqlMutants(text: string): Edit[] {
  return [...droppedConditions(text), ...comparisons(text), ...WORDS.flatMap((word) => replaced(text, word))];
}

/** Puts `_` in place of texts and blanks in place of comments, so that nothing in them is taken for SQL. */
export const maskSql = (text: string): string =>
  text
    .replace(/'(?:[^']|'')*'/g, (literal) => '_'.repeat(literal.length))
    .replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length));

/** Replacements of single words and operators that are valid wherever they stand. */
const WORDS: readonly { readonly find: RegExp; readonly put: string }[] = [
  { find: /\bgreatest(?=\s*\()/gi, put: 'least' },
  { find: /\bleast(?=\s*\()/gi, put: 'greatest' },
  { find: /\bmin(?=\()/gi, put: 'max' },
  { find: /\bmax(?=\()/gi, put: 'min' },
  { find: /\btrue\b/gi, put: 'false' },
  { find: /\bfalse\b/gi, put: 'true' },
  { find: /\bIS NULL\b/g, put: 'IS NOT NULL' },
  { find: /\bIS NOT NULL\b/g, put: 'IS NULL' },
  { find: /\bNOT (?!NULL\b|MATERIALIZED\b|IN\b)(?=\w)/g, put: '' },
  { find: /\bNOT IN\b/g, put: 'IN' },
  { find: /(?<!NOT )\bIN(?= \()/g, put: 'NOT IN' },
  { find: /(?<!NOT )\bEXISTS\b/g, put: 'NOT EXISTS' },
  { find: /\bOR\b/g, put: 'AND' },
  { find: /(?<=[\w)\]] )\+(?= )/g, put: '-' },
  { find: /(?<=[\w)\]] )-(?= )/g, put: '+' },
  { find: /\s*\bFOR (NO KEY )?(UPDATE|SHARE)( OF \w+)?( SKIP LOCKED| NOWAIT)?/g, put: '' },
  { find: / SKIP LOCKED/g, put: '' },
  { find: /\s*\bORDER BY [^()]*?(?=\s+(LIMIT|FOR)\b)/g, put: '' },
];

function replaced(text: string, { find, put }: { readonly find: RegExp; readonly put: string }): Edit[] {
  return [...text.matchAll(find)].map(({ 0: found, index }) => ({ start: index, end: index + found.length, put }));
}

/** The words that begin or end a condition; `BETWEEN` takes the next `AND` for itself. */
const CLAUSE =
  /[(),]|<=|>=|<>|[-=]>>?|<@|@>|[<>=]|\b(?:AND|OR|WHERE|ON|HAVING|WHEN|THEN|ELSE|CASE|END|BETWEEN|SELECT|FROM|JOIN|LEFT|CROSS|INNER|ORDER|GROUP|RETURNING|LIMIT|OFFSET|FOR|UNION|SET|AS|VALUES|INSERT|DO)\b/g;

type Token = { readonly word: string; readonly start: number; readonly end: number; readonly depth: number };

/** The tokens that structure a statement, each with the depth of its parentheses and of its CASE. */
function tokensOf(text: string): Token[] {
  let depth = 0;
  return [...text.matchAll(CLAUSE)].map(({ 0: word, index: start }) => {
    if (word === ')' || word === 'END') depth--;
    const token = { word, start, end: start + word.length, depth };
    if (word === '(' || word === 'CASE') depth++;
    return token;
  });
}

const COMPARISON = /^[<>=]+$|^[-=]>>?$|^<@$|^@>$/;

/** Drops each operand of each AND. */
function droppedConditions(text: string): Edit[] {
  const tokens = withoutBetween(tokensOf(text).filter(({ word }) => !COMPARISON.test(word)));
  return tokens.flatMap((and, at) => {
    if (and.word !== 'AND') return [];
    const before = tokens.slice(0, at).findLast((token) => isBoundary(and, token));
    const after = tokens.slice(at + 1).find((token) => isBoundary(and, token));
    const right: Edit = { start: and.start, end: contentEnd(text, after?.start ?? text.length), put: '' };
    if (before?.word === 'AND') return [right];
    return [right, { start: contentStart(text, before?.end ?? 0), end: and.end, put: '' }];
  });
}

/** Leaves out each BETWEEN with its AND, which joins no conditions. */
function withoutBetween(tokens: readonly Token[]): Token[] {
  const betweens = tokens.filter(({ word }) => word === 'BETWEEN');
  const own = betweens.map(({ depth, start }) =>
    tokens.find((token) => token.word === 'AND' && token.depth === depth && token.start > start),
  );
  return tokens.filter((token) => token.word !== 'BETWEEN' && !own.includes(token));
}

/** Whether a token ends the conditions that an AND joins. */
const isBoundary = (and: Token, { depth, word }: Token): boolean =>
  depth < and.depth || (depth === and.depth && !['(', ')', 'CASE', 'END'].includes(word));

const contentStart = (text: string, from: number): number => from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
const contentEnd = (text: string, to: number): number => text.slice(0, to).trimEnd().length;

const TURNED: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '=': '<>', '<>': '=' };

/** What neither begins nor ends a clause. */
const INSIDE = new Set(['(', ')', ',', 'CASE', 'END']);

/** Moves each comparison over its boundary, or turns it round. What a SET assigns is no comparison. */
function comparisons(text: string): Edit[] {
  const tokens = tokensOf(text);
  return tokens.flatMap(({ word, start, end, depth }, at) => {
    const put = TURNED[word];
    if (put === undefined) return [];
    const clauses = tokens.slice(0, at).filter((token) => !COMPARISON.test(token.word) && !INSIDE.has(token.word));
    const clause = clauses.findLast((token) => token.depth <= depth);
    const assigns = clause?.word === 'SET' && clause.depth === depth;
    return assigns ? [] : [{ start, end, put }];
  });
}
