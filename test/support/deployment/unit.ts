import { readFileSync } from 'node:fs';

/** Reads the settings of a unit file. Sections are not told apart, and of a setting that occurs again the last one counts. */
export function readUnit(file: string): ReadonlyMap<string, string> {
  return new Map(readPairs(file, /^([A-Za-z]+)=(.*)$/));
}

/** Reads an environment file of a unit. */
export function readEnvironmentFile(file: string): Record<string, string> {
  return Object.fromEntries(readPairs(file, /^([A-Z][A-Z0-9_]*)=(.*)$/));
}

/** Returns name and value of each line of the form; the others are comments and headings. */
const readPairs = (file: string, form: RegExp): [string, string][] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, value] = form.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] satisfies [string, string]];
    });
