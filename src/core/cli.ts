import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Command, CommanderError, Option } from 'commander';
import type { Pool } from 'pg';
import { type Config, loadConfig } from './config.ts';
import { nameOfDatabase } from './db/database-url.ts';
import { attachEmbedded } from './db/embedded.ts';
import { hasCluster } from './db/embedded-process.ts';
import { ensureCell, MIGRATIONS_DIR, migrate } from './db/migrate.ts';
import { createPool, waitForPrimary } from './db/pool.ts';
import { explainDatabaseError, StartupError } from './db/startup-error.ts';
import { addEnvFile } from './env-file.ts';
import { invalidFields } from './errors.ts';
import { silentLog } from './log.ts';
import { isLocalUrl } from './outbound.ts';
import { trimCharacterEnd } from './schema.ts';

export type CommandContext = {
  /** Returns the validated configuration. It is only read on demand, so that `--help` works with an invalid one. */
  config(): Config;
  /**
   * The settings that `config` reads: those of the environment and, where it has none, of the file in
   * HELIOGRAPH_ENV_FILE.
   */
  settings(): Readonly<Record<string, string | undefined>>;
  /** Declares that this command creates the file in HELIOGRAPH_ENV_FILE: it may be missing. */
  createsEnvFile(command: Command): void;
  /** Asks the operator for a line on stderr; null if standard input is not a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /**
   * Runs `work` on the program's database: DATABASE_URL, or the PostgreSQL in DATA_DIR, which is started for the
   * duration of the command if it is not running. Applies pending migrations first. If DATA_DIR has no database, it is
   * created with `create`, and otherwise a StartupError names the folder: most likely it is the wrong one. Prints first
   * on stderr which database it uses, unless the output is JSON. `config` replaces that of the environment.
   */
  withDatabase<T>(
    work: (pool: Pool, connectionString: string) => Promise<T>,
    options?: { readonly create: boolean; readonly config?: Config },
  ): Promise<T>;
  /**
   * Prints the result on stdout: one JSON document with --json, else the text that `human` returns. If `ok` is false
   * the exit code is 1, for a command that found a problem.
   */
  report<T>(result: T, human: (result: T) => string, ok?: boolean): void;
  /** Prints a line on stderr about the progress of a long command. */
  progress(line: string): void;
  /**
   * Warns on stderr that an address in the output is of no use to others, if PUBLIC_URL is only reachable from this
   * machine; `what` names the address, as in "The callback URL". Prints nothing if the output is JSON.
   */
  warnIfLocal(what: string): void;
  /**
   * Reads the secrets of this command; one on the command line is warned about on stderr, unless the output is JSON.
   */
  readonly secrets: SecretReader;
};

export type CommandGroup = (program: Command, context: CommandContext) => void;

/** The parts of a process that commands need. */
type Process = {
  readonly argv: readonly string[];
  /** Settings of the file in HELIOGRAPH_ENV_FILE are added to it. */
  readonly env: Record<string, string | undefined>;
  /** Source of secrets; without it none can be read or asked for. */
  readonly stdin?: SecretSource;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
};

/**
 * Runs the command given in `argv` and returns the exit code: 0 on success, 1 if it failed (with one sentence on
 * stderr), 2 if its arguments were invalid.
 */
export async function runCommand(groups: readonly CommandGroup[], process: Process): Promise<number> {
  const program = createProgram(process);
  let ok = true;
  const print = (text: string): unknown => process.stdout.write(`${text}\n`);
  const isJson = (): boolean => program.opts()['json'] === true;
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const warn = (line: string): void => (isJson() ? undefined : progress(line));
  let secrets: SecretReader | undefined;
  const creators = new Set<Command>();
  const context: CommandContext = {
    config: () => loadConfig(process.env),
    settings: () => ({ ...process.env }),
    createsEnvFile: (command) => void creators.add(command),
    withDatabase(work, { create, config } = { create: false }) {
      const say = (database: string): void => warn(`Database: ${database}`);
      return withDatabase(config ?? loadConfig(process.env), work, { create, say });
    },
    report(result, human, good = true) {
      print(isJson() ? JSON.stringify(result) : human(result));
      ok &&= good;
    },
    progress,
    warnIfLocal(what) {
      const { publicUrl } = loadConfig(process.env);
      if (isLocalUrl(publicUrl))
        warn(`Warning: ${what} uses ${publicUrl}, which others cannot reach. Set PUBLIC_URL to the address they use.`);
    },
    // Standard input is opened on demand: opening it has effects on a process that does not read it.
    get ask() {
      return createAsk({ stdin: process.stdin, stderr: process.stderr });
    },
    get secrets() {
      return (secrets ??= createSecretReader({ stdin: process.stdin, stderr: process.stderr, warn }));
    },
  };
  for (const register of groups) register(program, context);
  try {
    program.hook('preAction', (_, command) => addEnvFile(process.env, { mayBeMissing: creators.has(command) }));
    await program.parseAsync(process.argv);
    return ok ? 0 : 1;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const explained = explainDatabaseError(error);
    process.stderr.write(`${explained instanceof Error ? explained.message : String(explained)}\n`);
    return 1;
  }
}

function createProgram({ stdout, stderr }: Process): Command {
  return new Command('heliograph')
    .description('Self-hosted messaging gateway: SMS, RCS and WhatsApp behind one REST interface')
    .option('--json', 'print one JSON document instead of text')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
}

type Work<T> = (pool: Pool, connectionString: string) => Promise<T>;

type Opening = {
  readonly create: boolean;
  /** Called with the name of the database, before anything happens there. */
  say(database: string): void;
};

/** Time for which a command waits for its database without a message. */
const QUIET_MS = 2000;

async function withDatabase<T>(
  { databaseUrl, dataDir, cell }: Config,
  work: Work<T>,
  { create, say }: Opening,
): Promise<T> {
  if (databaseUrl !== undefined) {
    say(nameOfDatabase(databaseUrl));
    const late = setTimeout(() => say('waiting up to 30 s for a server that accepts writes'), QUIET_MS);
    await waitForPrimary(databaseUrl).finally(() => clearTimeout(late));
    return withPool(databaseUrl, cell, work);
  }
  if (!create && !(await hasCluster(dataDir)))
    throw new StartupError(
      `There is no installation in ${resolve(dataDir)}: set DATA_DIR or DATABASE_URL as for the program, or create one with serve or migrate.`,
    );
  say(`the built-in PostgreSQL in ${resolve(dataDir)}`);
  const server = await attachEmbedded({ dataDir, log: silentLog });
  try {
    return await withPool(server.connectionString, cell, work);
  } finally {
    await server.release();
  }
}

async function withPool<T>(connectionString: string, cell: number, work: Work<T>): Promise<T> {
  const pool = createPool(connectionString, { max: 2, applicationName: 'heliograph command', log: silentLog });
  try {
    await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
    await ensureCell(pool, cell);
    return await work(pool, connectionString);
  } finally {
    await pool.end();
  }
}

/** Formats rows as text in aligned columns under their headings. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(String));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

type Terminal = {
  readonly stdin: SecretSource | undefined;
  /** The question is written here, so that stdout stays the result of the command. */
  readonly stderr: { write(text: string): unknown };
};

/**
 * Creates a function that asks the operator for one line at the terminal; null if standard input is not a terminal.
 * Ctrl-C and Ctrl-D end it with an error that names the question.
 */
export function createAsk({ stdin, stderr }: Terminal): ((question: string) => Promise<string>) | null {
  if (stdin?.isTTY !== true) return null;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stderr.write(chunk.toString());
      done();
    },
  });
  return (question) => {
    const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    const nothing = (): Error =>
      invalidFields([{ field: trimCharacterEnd(question.trimEnd(), ':'), message: 'a value is required' }]);
    return new Promise<string>((resolve, reject) => {
      lines.question(question, resolve);
      lines.once('close', () => reject(nothing()));
    })
      .catch((error: unknown) => {
        // The cursor is after the question.
        stderr.write('\n');
        throw error;
      })
      .finally(() => lines.close());
  };
}

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

type SecretTerminal = {
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
export function createSecretReader({ stdin, stderr, warn }: SecretTerminal): SecretReader {
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
  const bytes = await readBytes(name, stream);
  if (bytes === null) return refuse(name, `must have at most ${MAX_BYTES / 1024} KiB: is it the right file?`);
  return filled(name, withoutFinalBreak(decode(name, bytes)));
}

/** Resolves with null if there are too many. */
async function readBytes(name: string, stream: AsyncIterable<string | Uint8Array>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_BYTES) return null;
      chunks.push(bytes);
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
function decode(name: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse(name, 'must be text in UTF-8: save the file again in that encoding');
  }
}

/** Asks for one line without echoing the input. Ctrl-C and Ctrl-D end it as a missing secret. */
function prompt(name: string, stdin: SecretSource, stderr: SecretTerminal['stderr']): Promise<string> {
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
