import { Command, CommanderError } from 'commander';
import type { Pool } from 'pg';
import { type Config, loadConfig } from './config.ts';
import { attachEmbedded } from './db/embedded.ts';
import { migrate, MIGRATIONS_DIR } from './db/migrate.ts';
import { createPool } from './db/pool.ts';
import { explainDatabaseError } from './db/startup-error.ts';
import { silentLog } from './lib/log.ts';

/** What a command works with. */
export type CommandContext = {
  /** The checked configuration. Read when asked for, so that `--help` works with a wrong one. */
  config(): Config;
  /**
   * Runs `work` on the database that the program uses: DATABASE_URL, or else the PostgreSQL in DATA_DIR, which is
   * joined when it runs and otherwise started for the time of the command. Brings the schema up to date first.
   */
  withDatabase<T>(work: (pool: Pool) => Promise<T>): Promise<T>;
  /**
   * The result, on stdout: one JSON document with --json, else what `human` makes of it. With `ok` false the command
   * found something wrong, and its exit code is 1.
   */
  report<T>(result: T, human: (result: T) => string, ok?: boolean): void;
};

/** Adds the commands of one feature. */
export type CommandGroup = (program: Command, context: CommandContext) => void;

/** What a process is made of, as far as the commands need it. */
type Process = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
};

/**
 * Runs the command that `argv` names and returns the exit code: 0, 1 when it failed (one sentence on stderr), 2 when
 * it was called wrongly.
 */
export async function runCommand(groups: readonly CommandGroup[], process: Process): Promise<number> {
  const program = createProgram(process);
  let ok = true;
  const print = (text: string): unknown => process.stdout.write(`${text}\n`);
  const context: CommandContext = {
    config: () => loadConfig(process.env),
    withDatabase: (work) => withDatabase(loadConfig(process.env), work),
    report(result, human, good = true) {
      print(program.opts()['json'] === true ? JSON.stringify(result) : human(result));
      ok &&= good;
    },
  };
  for (const register of groups) register(program, context);
  try {
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

async function withDatabase<T>({ databaseUrl, dataDir }: Config, work: (pool: Pool) => Promise<T>): Promise<T> {
  if (databaseUrl !== undefined) return withPool(databaseUrl, work);
  const server = await attachEmbedded({ dataDir, log: silentLog });
  try {
    return await withPool(server.connectionString, work);
  } finally {
    await server.release();
  }
}

async function withPool<T>(connectionString: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = createPool(connectionString, { max: 2, applicationName: 'heliograph command', log: silentLog });
  try {
    await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Rows as text in columns that line up, under their headings. */
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
