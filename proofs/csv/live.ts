/** What spreadsheets take for the beginning of a formula, blanks before it included. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;
const E164 = /^\+\d{7,15}$/;

/** Whether a spreadsheet would do something with this cell; a number may stand where there are numbers. */
export const isLive = (cell: string, mayBeNumber: boolean): boolean =>
  FORMULA.test(cell) && !(mayBeNumber && E164.test(cell));
