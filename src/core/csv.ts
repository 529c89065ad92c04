const { raw } = String;

/** Signs that begin a formula, also in full and half width. */
const SIGNS = raw`=+\-@＝＋－＠﹢﹣﹦﹫`;
/**
 * Characters that spreadsheets skip before a formula, or do not show: blanks, control and format characters, and
 * quotes, which are part of a text only if the reader treats them as such.
 */
const SKIPPED = raw`"\u0001-\u0008\u000b\u000c\u000e-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb`;
/** Characters that may end a cell in addition to the comma: the list separators of spreadsheets, and line ends. */
const SEPARATORS = raw`;|\t\r\n`;

/**
 * The source of a regular expression, for JavaScript and PostgreSQL alike, that matches a formula of a spreadsheet at
 * the beginning of a text or after a separator in it, with the apostrophes before it. Each character is examined once:
 * no part of it matches a separator but the first. The groups are the separator and the rest.
 */
export const FORMULA_START = `(^|[${SEPARATORS}])('*[${SKIPPED}]*[${SIGNS}])`;
/** The same for a text that begins with a separator, which some spreadsheets drop. */
export const SEPARATOR_FIRST = raw`^('*[\t\r\n])`;
/** Phone numbers start with a plus and are not formulas. */
export const E164 = raw`^\+\d{7,15}$`;

const FORMULAS = new RegExp(FORMULA_START, 'g');
const FIRST = new RegExp(SEPARATOR_FIRST);
const NUMBER = new RegExp(E164);
const MAY_NEED_CARE = new RegExp(`[${SIGNS}\\t\\r\\n]`);
const MARKED_FORMULAS = new RegExp(FORMULA_START.replace("'*", "''*"), 'g');
const MARKED_FIRST = new RegExp(SEPARATOR_FIRST.replace("'*", "''*"));
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Writes one line of CSV (RFC 4180) with its line end. A text that a spreadsheet would treat as a formula gets a
 * leading apostrophe, so that it is shown as text: at the beginning of a cell, and after a semicolon, a vertical bar, a
 * tab or a line end in it, where a spreadsheet with another list separator begins a cell. E.164 numbers stay as they
 * are. `readCell` removes the apostrophes.
 */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

function csvCell(text: string): string {
  const inert = inertText(text);
  return NEEDS_QUOTES.test(inert) || inert !== text ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function inertText(text: string): string {
  if (!MAY_NEED_CARE.test(text) || NUMBER.test(text)) return text;
  return text.replace(FORMULAS, "$1'$2").replace(FIRST, "'$1");
}

/** Returns the original text of an exported cell: without the apostrophes that `csvLine` and the exports add. */
export function readCell(cell: string): string {
  if (!cell.includes("'")) return cell;
  const withoutFirst = MARKED_FIRST.test(cell) ? cell.slice(1) : cell;
  return withoutFirst.replace(MARKED_FORMULAS, (_all, before: string, rest: string) => before + rest.slice(1));
}

export const DELIMITERS = [',', ';', '\t', '|'] as const;
/** The delimiter of the cells of a CSV file. */
export type Delimiter = (typeof DELIMITERS)[number];

/** Length of the part of a file that is examined. */
export const SAMPLE_CHARACTERS = 64 * 1024;
const SAMPLE_LINES = 20;

/**
 * Detects the delimiter of the cells of a CSV file: the sign with the largest minimum count per line among its first
 * lines.
 */
export function detectDelimiter(sample: string): Delimiter {
  const lines = linesOf(sample.slice(0, SAMPLE_CHARACTERS)).slice(0, SAMPLE_LINES);
  const rated = DELIMITERS.map((delimiter) => {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    return { delimiter, least: Math.min(...counts), all: counts.reduce((sum, n) => sum + n, 0) };
  });
  const best = rated.reduce((a, b) => (b.least > a.least || (b.least === a.least && b.all > a.all) ? b : a));
  return best.all === 0 ? ',' : best.delimiter;
}

/** Returns the lines without quoted parts, and without the last line if the sample cuts it. */
function linesOf(sample: string): string[] {
  const lines = sample
    .replaceAll(/"(?:[^"]|"")*"/g, '')
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '');
  return sample.length >= SAMPLE_CHARACTERS && lines.length > 1 ? lines.slice(0, -1) : lines;
}
