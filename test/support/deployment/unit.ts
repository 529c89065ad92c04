import { readFileSync } from 'node:fs';
import { parseEnvFile } from '../../../src/core/env-file.ts';

/** Reads the settings of a unit file. Sections are not told apart, and of a setting that occurs again the last one counts. */
export function readUnit(file: string): ReadonlyMap<string, string> {
  const lines = readFileSync(file, 'utf8').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] satisfies [string, string]];
    }),
  );
}

/** Reads an environment file of a unit, as the commands do. */
export const readEnvironmentFile = (file: string): Record<string, string> =>
  parseEnvFile(readFileSync(file, 'utf8'), file);
