import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import type { Pool } from 'pg';
import { type Config, loadConfig } from './config.ts';
import { hasCluster } from './db/embedded/cluster.ts';
import { attachEmbedded } from './db/embedded/embedded.ts';
import { ensureCell } from './db/cell.ts';
import { migrate, MIGRATIONS_DIR } from './db/migrate.ts';
import { createPool } from './db/pool.ts';
import { waitForPrimary } from './db/servers.ts';
import { explainDatabaseError, StartupError } from './db/startup-error.ts';
import { addEnvFile } from './env-file.ts';
import { nameOfDatabase } from './lib/database-url.ts';
import { isLocalUrl } from './lib/local-url.ts';
import { silentLog } from './lib/log.ts';
import { createAsk } from './ask.ts';
import { createSecretReader, type SecretReader, type SecretSource } from './secret-input.ts';

/** Dependencies of commands. */
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

/** Registers the commands of one feature. */
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
