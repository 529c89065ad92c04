/** A replacement in one text. */
export type Edit = { readonly start: number; readonly end: number; readonly put: string };

/** One small fault: a piece of a program file, and what stands there instead. */
export type Mutant = Edit & {
  /** Counted from 1 within an area. */
  readonly id: number;
  /** The path of the file from the root of the repository. */
  readonly file: string;
  readonly host: Host;
  readonly line: number;
  /** The line that the piece begins on. */
  readonly code: string;
  /** The piece and its replacement on one line, for people. */
  readonly change: string;
};

/**
 * The smallest part of a file that exists once with each mutant in it: the body of a function, the default of a
 * parameter, or the value of a constant of the module.
 */
export type Host = {
  readonly start: number;
  readonly end: number;
  readonly isBlock: boolean;
  /** Whether it is evaluated once, when the module is loaded. */
  readonly isStatic: boolean;
};

/** Names a host in all files. */
export const hostKey = (file: string, { start }: Host): string => `${file}:${start}`;

/** Returns the text with one piece replaced. */
export const applyEdit = (text: string, { start, end, put }: Edit): string =>
  text.slice(0, start) + put + text.slice(end);
