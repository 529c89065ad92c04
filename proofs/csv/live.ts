/** What spreadsheets take for the beginning of a formula, including after blanks. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;
const E164 = /^\+\d{7,15}$/;

/**
 * Whether a spreadsheet would do something with this cell. A phone number with a plus sign is fine where numbers are
 * expected.
 */
export const isLive = (cell: string, mayBeNumber: boolean): boolean =>
  FORMULA.test(cell) && !(mayBeNumber && E164.test(cell));
