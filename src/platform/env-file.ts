import { readFile } from 'node:fs/promises';
import { StartupError } from './db/startup-error.ts';

/** The settings of an installed service, by their names. */
type Settings = Record<string, string>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What a backslash protects between double quotes; before anything else it stands for itself. */
const PROTECTED = '"\\`$';

/**
 * Adds to `env` the settings of the file that `HELIOGRAPH_ENV_FILE` names, so that a command works on the same
 * installation as the service. What is set in `env` already stays, also if it is empty. Does nothing when the variable is
 * not set or empty. Throws a StartupError that names the file, and the line, when it cannot be read; one that does not exist
 * is empty with `mayBeMissing`.
 */
export async function addEnvFile(
  env: Record<string, string | undefined>,
  { mayBeMissing }: { readonly mayBeMissing: boolean } = { mayBeMissing: false },
): Promise<void> {
  const file = env['HELIOGRAPH_ENV_FILE']?.trim() ?? '';
  if (file === '') return;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (mayBeMissing && error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartupError(
      `The file in HELIOGRAPH_ENV_FILE cannot be read: ${file} (${reason}). Run this as root, or as the user of the service.`,
    );
  });
  for (const [name, value] of Object.entries(parseEnvFile(text, file))) env[name] ??= value;
}

/**
 * Parses a file of settings by the rules of systemd's `EnvironmentFile=` (man systemd.exec), so that a service and its
 * commands read the same values: a line is a comment only if it begins with # or ;, a value may stand in single or double
 * quotes, and a backslash protects what follows. Unlike systemd it refuses a line that sets nothing. Takes linear time.
 *
 * @param file named in the error
 */
export function parseEnvFile(text: string, file: string): Settings {
  const settings: Settings = {};
  let at = 0;
  let line = 1;

  /** Takes one character, and counts lines. */
  function take(): string {
    const character = text.charAt(at++);
    if (character === '\n') line++;
    return character;
  }
  function takeLine(): string {
    const end = text.indexOf('\n', at);
    const rest = text.slice(at, end < 0 ? text.length : end);
    at += rest.length;
    take();
    return rest;
  }
  function takeQuoted(quote: string): string {
    const begin = line;
    const parts: string[] = [];
    while (at < text.length) {
      const character = take();
      if (character === quote) return parts.join('');
      if (character !== '\\' || quote === "'") parts.push(character);
      else parts.push(unescape(take()));
    }
    throw new StartupError(`${file}, line ${begin}: the quote does not end`);
  }
  const unescape = (next: string): string =>
    next === '\n' ? '' : PROTECTED.includes(next) && next !== '' ? next : `\\${next}`;
  function takeValue(): string {
    const parts: string[] = [];
    /** How many of them stay when blanks at the end are left out. */
    let kept = 0;
    while (at < text.length) {
      const character = take();
      if (character === '\n') break;
      if (isBlank(character)) {
        if (parts.length > 0) parts.push(character);
        continue;
      }
      if (character === '"' || character === "'") parts.push(takeQuoted(character));
      else if (character !== '\\') parts.push(character);
      else {
        const next = take();
        if (next !== '\n') parts.push(next);
      }
      kept = parts.length;
    }
    return parts.slice(0, kept).join('');
  }

  while (at < text.length) {
    if (isBlank(text.charAt(at)) || text.charAt(at) === '\n') {
      take();
    } else if (text.charAt(at) === '#' || text.charAt(at) === ';') {
      takeLine();
    } else {
      const equals = text.indexOf('=', at);
      const name = text.slice(at, equals < 0 ? at : equals).trim();
      if (!NAME.test(name)) throw new StartupError(`${file}, line ${line}: must be NAME=value`);
      at = equals + 1;
      settings[name] = takeValue();
    }
  }
  return settings;
}

const isBlank = (character: string): boolean => character === ' ' || character === '\t' || character === '\r';
