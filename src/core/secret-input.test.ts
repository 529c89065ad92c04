import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Command } from 'commander';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { addSecretOption, createSecretReader, type SecretSource } from './cli.ts';

const REQUIRED = { required: true };

/** A reader whose output on stderr, prompts and warnings, is kept. */
function readerOn(stdin?: SecretSource) {
  const shown = { stderr: '', warnings: [] as string[] };
  const stderr = { write: (text: string) => (shown.stderr += text) };
  return { shown, reader: createSecretReader({ stdin, stderr, warn: (line) => shown.warnings.push(line) }) };
}

/** A terminal where these keys are typed after the prompt; it records whether echo was switched off. */
function terminal(keys: string) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) });
  stdin.write(keys);
  return { stdin, modes };
}

test('a file and standard input lose a byte order mark, one final line break and nothing else', async () => {
  const folder = await temporaryFolder('heliograph-secret-');
  const path = join(folder, 'secret');
  for (const [content, secret] of [
    ['plain', 'plain'],
    ['unix\n', 'unix'],
    ['windows\r\n', 'windows'],
    [' two \n\n', ' two \n'],
    ['first\nsecond', 'first\nsecond'],
    ['\uFEFFmarked\r\n', 'marked'],
  ] as const) {
    await writeFile(path, content);
    const { reader } = readerOn(Readable.from([content]));
    expect(await reader.ofOption({ passwordFile: path }, '--password')).toBe(secret);
    expect(await reader.ofPair('apiKey', `@${path}`)).toBe(secret);
    expect(await reader.ofOption({ passwordStdin: true }, '--password')).toBe(secret);
  }
  await rm(folder, { recursive: true });
});

test('at a terminal a required secret is asked for on stderr without echo, and can be corrected', async () => {
  const { stdin, modes } = terminal('secrex\x7ft\r');
  const { reader, shown } = readerOn(stdin);
  expect(await reader.ofOption({}, '--password', REQUIRED)).toBe('secret');
  expect(shown).toEqual({ stderr: '--password (not shown): \n', warnings: [] });
  expect(modes).toEqual([true, false]);
});

test.for([
  ['Ctrl-C', '\x03', 'a value is required'],
  ['Enter alone', '\r', 'must not be empty'],
] as const)('%s at the prompt is refused by the name of the secret', async ([, keys, message]) => {
  const { reader } = readerOn(terminal(keys).stdin);
  await expect(reader.ofPair('apiKey', '-')).rejects.toThrow(`apiKey: ${message}`);
});

test('without a terminal a required secret that is left out is refused, and an optional one is absent', async () => {
  const { reader } = readerOn(Readable.from(['unread']));
  await expect(reader.ofOption({}, '--password', REQUIRED)).rejects.toThrow('--password: is required');
  expect(await reader.ofOption({}, '--password')).toBeUndefined();
});

test('two forms of one secret, a second secret on standard input, and empty ones are refused by name', async () => {
  const { reader } = readerOn(Readable.from(['once']));
  const both = { passwordStdin: true, password: 'x' };
  await expect(reader.ofOption(both, '--password')).rejects.toThrow('--password: give one of');
  expect(await reader.ofOption({ password: '-' }, '--password')).toBe('once');
  await expect(reader.ofPair('apiKey', '-')).rejects.toThrow('apiKey: standard input was already read for --password');
  await expect(reader.ofOption({ pin: '' }, '--pin')).rejects.toThrow('--pin: must not be empty');
  await expect(reader.ofPair('apiKey', '@/none/such')).rejects.toThrow(/apiKey: ENOENT/);
  await expect(readerOn(Readable.from(['\n'])).reader.ofPair('apiKey', '-')).rejects.toThrow('must not be empty');
  await expect(readerOn().reader.ofPair('apiKey', '-')).rejects.toThrow('apiKey: there is no standard input');
});

test('a secret on the command line is used with a warning that does not contain it', async () => {
  const { reader, shown } = readerOn();
  expect(await reader.ofOption({ password: 'visible' }, '--password')).toBe('visible');
  expect(await reader.ofPair('apiKey', 'visible')).toBe('visible');
  expect(shown.warnings).toHaveLength(2);
  expect(shown.warnings.join()).toMatch(/--password-file PATH.*apiKey=@PATH/);
  expect(shown.warnings.join()).not.toContain('visible');
});

test('the help shows the safe forms first', () => {
  const command = new Command();
  addSecretOption(command, '--app-secret', 'the secret of the app');
  const help = command.helpInformation();
  const places = ['--app-secret-file <path>', '--app-secret-stdin', '--app-secret <text>'].map((form) =>
    help.indexOf(form),
  );
  expect(places.every((place) => place > 0)).toBe(true);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test('what is not UTF-8, too long, or no file is refused by name, and an endless input ends', async () => {
  const folder = await temporaryFolder('heliograph-secret-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'secret');
  for (const [content, reason] of [
    // As the shell of Windows writes a file with `>`.
    [Buffer.from('\uFEFFsecret\r\n', 'utf16le'), 'must be text in UTF-8'],
    [Buffer.from('gr\u00FCn', 'latin1'), 'must be text in UTF-8'],
    [Buffer.alloc(64 * 1024 + 1, 'x'), 'must have at most 64 KiB'],
    [Buffer.alloc(0), 'must not be empty'],
    [Buffer.from('\uFEFF\n'), 'must not be empty'],
  ] as const) {
    await writeFile(path, content);
    await expect(readerOn().reader.ofPair('apiKey', `@${path}`)).rejects.toThrow(`apiKey: ${reason}`);
    const { reader } = readerOn(Readable.from([content]));
    await expect(reader.ofOption({ passwordStdin: true }, '--password')).rejects.toThrow(`--password: ${reason}`);
  }
  await expect(readerOn().reader.ofPair('apiKey', `@${folder}`)).rejects.toThrow(/apiKey: EISDIR/);
  await expect(readerOn().reader.ofPair('apiKey', '@/dev/zero')).rejects.toThrow('apiKey: must have at most 64 KiB');
});

test('no prompt is shown where nothing is to be entered', async () => {
  const { reader, shown } = readerOn(terminal('secret\r').stdin);
  const options = { required: true, mayAsk: false };
  await expect(reader.ofOption({}, '--password', options)).rejects.toThrow('--password: is required');
  expect(shown.stderr).toBe('');
});
