/** What spreadsheets take for the beginning of a formula: a sign, behind quotes and all that does not show. */
const FORMULA = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}"]*[=+\-@＝＋－＠]/u;
/** Where a spreadsheet may cut a cell: at list separators other than ours, and at line ends. */
const CUTS = [/[\r\n]/, /[;\r\n]/, /[|\r\n]/, /[\t\r\n]/, /[;|\t\r\n]/];
const E164 = /^\+\d{7,15}$/;

/**
 * Whether a spreadsheet would do something with this cell, wherever it cuts it. A phone number with a plus sign is fine
 * where numbers are expected.
 */
export const isLive = (cell: string, mayBeNumber: boolean): boolean =>
  !(mayBeNumber && E164.test(cell)) &&
  (/^[\t\r\n]/.test(cell) || CUTS.some((cut) => cell.split(cut).some((part) => FORMULA.test(part))));

/** Whether a cell of a file stands for the text: it may have further apostrophes, which make it inert. */
export const standsFor = (cell: string | undefined, text: string): boolean =>
  cell?.replaceAll("'", '') === text.replaceAll("'", '');

/** What an import makes of a cell: an apostrophe before a formula only marks it, and blanks at the ends are dropped. */
export const imported = (cell: string): string =>
  cell
    .replace(/^'(?=[\t\r\n])/, '')
    .replaceAll(/(^|[;|\t\r\n])'(?='*[^\S\t\r\n]*[\u200b"]*[=+\-@＝])/g, '$1')
    .trim();
