import { readFile } from 'node:fs/promises';
import { StartupError } from './db/startup-error.ts';

/** The settings of an installed service, by their names. */
type Settings = Record<string, string>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Characters that a backslash protects between double quotes; before any other one it stands for itself. */
const PROTECTED = '"\\`$';

/**
 * Adds to `env` the settings of the file that `HELIOGRAPH_ENV_FILE` names, so that a command works on the same
 * installation as the service. Existing variables of `env` stay, even if empty. Does nothing when the variable is not
 * set or empty. Throws a StartupError that names the file, and the line, if it cannot be read; one that does not exist
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
 * Parses a file of settings by the rules of systemd's `EnvironmentFile=` (man systemd.exec, and src/basic/env-file.c in
 * its sources), so that a service and its commands read the same values: a line is a comment only if it begins with #
 * or ;, quotes count only at the start of a value or directly after a quoted part of it, and a backslash protects the
 * next character. Unlike systemd it rejects a line that sets nothing, and a quote that does not end. Takes linear time.
 *
 * @param file named in the error
 */
export function parseEnvFile(text: string, file: string): Settings {
  const settings: Settings = {};
  const reader = { text, at: 0, line: 1, file };
  while (reader.at < text.length) {
    const next = text.charAt(reader.at);
    if (isBlank(next) || isBreak(next)) take(reader);
    else if (next === '#' || next === ';') takeLine(reader);
    else settings[takeName(reader)] = takeValue(reader);
  }
  return settings;
}

/** Position of the parser: at a character of the text, in a line. */
type Reader = { readonly text: string; readonly file: string; at: number; line: number };

/** Takes one character, and counts lines. */
function take(reader: Reader): string {
  const character = reader.text.charAt(reader.at++);
  if (character === '\n') reader.line++;
  return character;
}

function takeLine(reader: Reader): void {
  while (reader.at < reader.text.length && !isBreak(take(reader)));
}

function takeName(reader: Reader): string {
  const equals = reader.text.indexOf('=', reader.at);
  const words = reader.text.slice(reader.at, equals < 0 ? reader.at : equals);
  const name = words.trimEnd();
  if (/[\r\n]/.test(words) || !NAME.test(name))
    throw new StartupError(`${reader.file}, line ${reader.line}: must be NAME=value`);
  reader.at = equals + 1;
  return name;
}

/** Takes a value: parts in quotes, blanks between which do not count, and then text up to the end of the line. */
function takeValue(reader: Reader): string {
  const parts: string[] = [];
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (isBreak(character)) return parts.join('');
    if (isBlank(character)) continue;
    if (character !== '"' && character !== "'") {
      reader.at--;
      return parts.join('') + takeText(reader);
    }
    parts.push(takeQuoted(reader, character));
  }
  return parts.join('');
}

/** Takes text without quotes: a quote in it stands for itself, and blanks at its end are omitted. */
function takeText(reader: Reader): string {
  const parts: string[] = [];
  let kept = 0;
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (isBreak(character)) break;
    if (character === '\\') {
      const next = take(reader);
      if (!isBreak(next)) parts.push(next);
    } else parts.push(character);
    if (!isBlank(character)) kept = parts.length;
  }
  return parts.slice(0, kept).join('');
}

function takeQuoted(reader: Reader, quote: string): string {
  const begin = reader.line;
  const parts: string[] = [];
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (character === quote) return parts.join('');
    parts.push(character === '\\' && quote === '"' ? unescape(take(reader)) : character);
  }
  throw new StartupError(`${reader.file}, line ${begin}: the quote does not end`);
}

const unescape = (next: string): string =>
  next === '\n' ? '' : PROTECTED.includes(next) && next !== '' ? next : `\\${next}`;

const isBlank = (character: string): boolean => character === ' ' || character === '\t';
const isBreak = (character: string): boolean => character === '\n' || character === '\r';
