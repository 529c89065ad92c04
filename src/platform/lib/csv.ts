/** What some spreadsheet takes for the beginning of a formula: the signs, in full width too, also behind blanks. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;
/** These begin with a plus and are none. */
const E164 = /^\+\d{7,15}$/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One line of CSV (RFC 4180) with its end. A cell that a spreadsheet would take for a formula gets an apostrophe before it
 * and so shows as it is; numbers in E.164 stay as they are (contract 8).
 */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

function csvCell(text: string): string {
  const inert = FORMULA.test(text) && !E164.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(inert) || inert !== text ? `"${inert.replaceAll('"', '""')}"` : inert;
}
