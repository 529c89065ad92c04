import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { invalidFields } from './errors.ts';

/** Standard input; `isTTY` is true at a terminal. */
export type SecretSource = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Reads the secrets of one command, from the source chosen by its caller. */
export type SecretReader = {
  /**
   * Returns the secret of an option that `addSecretOption` added: from `--NAME-file PATH`, from standard input with
   * `--NAME-stdin` or `--NAME -`, or from the command line itself. At a terminal standard input is a prompt without
   * echo, which also appears if a required secret was omitted. Returns undefined for one that is not required and was
   * omitted. With `mayAsk` false it never prompts. Input from a file or standard input is UTF-8 of at most 64 KiB, and
   * loses a byte order mark and one final line break. Errors: 400 that names the option for a secret that is empty,
   * missing, given twice or cannot be read, for one that is not UTF-8 or too long, and for a second secret on a
   * standard input that is not a terminal.
   */
  ofOption(
    flags: SecretFlags,
    flag: SecretFlag,
    options?: { readonly required: boolean; readonly mayAsk?: boolean },
  ): Promise<string | undefined>;
  /**
   * Returns the secret of a pair `NAME=VALUE`: of the file PATH for `@PATH`, of standard input or the prompt for `-`,
   * and otherwise VALUE itself. Line breaks and errors as with `ofOption`; an empty VALUE on the command line is
   * returned.
   */
  ofPair(name: string, value: string): Promise<string>;
};

/**
 * Maximum size: the longest secrets are key files of services, with 3 KiB. More is another file, or one without an end.
 */
const MAX_BYTES = 64 * 1024;

export type SecretFlag = `--${string}`;
/** The options of a command as commander returns them. */
type SecretFlags = Readonly<Record<string, unknown>>;

type Terminal = {
  readonly stdin: SecretSource | undefined;
  /** The prompt is written here, so that stdout stays the result of the command. */
  readonly stderr: { write(text: string): unknown };
  /** Receives a warning if a secret was given on the command line. */
  warn(line: string): void;
};

/**
 * Adds the three forms of an option that takes a secret, the safe ones first: `--NAME-file`, `--NAME-stdin`, `--NAME`.
 */
export function addSecretOption(command: Command, flag: SecretFlag, description: string): void {
  command
    .option(`${flag}-file <path>`, `${description}: read it from this file`)
    .option(`${flag}-stdin`, 'read it from standard input; at a terminal, prompt without echo')
    .option(`${flag} <text>`, `the same on the command line, where others may see it; "-" is ${flag}-stdin`);
}

/** Creates the reader of one run of a command. */
export function createSecretReader({ stdin, stderr, warn }: Terminal): SecretReader {
  let readFor: string | undefined;

  async function ofInput(name: string): Promise<string> {
    if (stdin === undefined) return refuse(name, 'there is no standard input');
    if (stdin.isTTY === true) return prompt(name, stdin, stderr);
    if (readFor !== undefined) return refuse(name, `standard input was already read for ${readFor}`);
    readFor = name;
    return readSecret(name, stdin);
  }

  function onCommandLine(name: string, value: string, safe: string): string {
    warn(
      `Warning: ${name} on the command line stays in the shell's history and shows in process lists. Safer: ${safe}`,
    );
    return value;
  }

  async function required(flag: SecretFlag, mayAsk: boolean): Promise<string> {
    return mayAsk && stdin?.isTTY === true
      ? ofInput(flag)
      : refuse(flag, `is required: use ${flag}-file PATH or ${flag}-stdin, or run this at a terminal`);
  }

  return {
    async ofOption(flags, flag, options) {
      const { file, fromInput, value } = formsOf(flags, flag);
      if ([file !== undefined, fromInput, value !== undefined].filter(Boolean).length > 1)
        return refuse(flag, `give one of ${flag}-file, ${flag}-stdin and ${flag}`);
      if (file !== undefined) return ofFile(`${flag}-file`, file);
      if (fromInput || value === '-') return ofInput(flag);
      if (value !== undefined) return onCommandLine(flag, filled(flag, value), `${flag}-file PATH or ${flag}-stdin`);
      return options?.required === true ? required(flag, options.mayAsk !== false) : undefined;
    },
    async ofPair(name, value) {
      if (value === '-') return ofInput(name);
      if (value.startsWith('@')) return ofFile(name, value.slice(1));
      return value === '' ? value : onCommandLine(name, value, `${name}=@PATH or ${name}=-`);
    },
  };
}

function formsOf(flags: SecretFlags, flag: SecretFlag): { file?: string; fromInput: boolean; value?: string } {
  const textOf = (name: string): string | undefined => {
    const given = flags[new Option(name).attributeName()];
    return typeof given === 'string' ? given : undefined;
  };
  const [file, value] = [textOf(`${flag}-file`), textOf(flag)];
  return {
    fromInput: flags[new Option(`${flag}-stdin`).attributeName()] === true,
    ...(file !== undefined && { file }),
    ...(value !== undefined && { value }),
  };
}

const ofFile = (name: string, path: string): Promise<string> => readSecret(name, createReadStream(path));

async function readSecret(name: string, stream: AsyncIterable<string | Uint8Array>): Promise<string> {
  const octets = await readOctets(name, stream);
  if (octets === null) return refuse(name, `must have at most ${MAX_BYTES / 1024} KiB: is it the right file?`);
  return filled(name, withoutFinalBreak(decode(name, octets)));
}

/** Resolves with null if there are too many. */
async function readOctets(name: string, stream: AsyncIterable<string | Uint8Array>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const octets = Buffer.from(chunk);
      size += octets.length;
      if (size > MAX_BYTES) return null;
      chunks.push(octets);
    }
  } catch (error) {
    return refuse(name, error instanceof Error ? error.message : String(error));
  }
  return Buffer.concat(chunks);
}

/**
 * Decodes a secret without its byte order mark, which Windows editors write: a carrier would reject the password with
 * it.
 */
function decode(name: string, octets: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return refuse(name, 'must be text in UTF-8: save the file again in that encoding');
  }
}

/** Asks for one line without echoing the input. Ctrl-C and Ctrl-D end it as a missing secret. */
function prompt(name: string, stdin: SecretSource, stderr: Terminal['stderr']): Promise<string> {
  stderr.write(`${name} (not shown): `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true, historySize: 0 });
  return new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('close', () => reject(invalidFields([{ field: name, message: 'a value is required' }])));
  })
    .finally(() => {
      lines.close();
      stderr.write('\n');
    })
    .then((line) => filled(name, line));
}

const withoutFinalBreak = (content: string): string => content.replace(/\r?\n$/, '');

const filled = (name: string, secret: string): string => (secret === '' ? refuse(name, 'must not be empty') : secret);

function refuse(field: string, message: string): never {
  throw invalidFields([{ field, message }]);
}
