/** What some spreadsheet programs take for the start of a formula: these signs, also full-width and after blanks. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;
/** Phone numbers start with a plus and are not formulas. */
const E164 = /^\+\d{7,15}$/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Writes one line of CSV (RFC 4180) with its line end. A cell that a spreadsheet would take for a formula gets a
 * leading apostrophe, so that it is shown as text; E.164 numbers stay as they are (contract 8).
 */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

function csvCell(text: string): string {
  const inert = FORMULA.test(text) && !E164.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(inert) || inert !== text ? `"${inert.replaceAll('"', '""')}"` : inert;
}
