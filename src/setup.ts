import { randomBytes } from 'node:crypto';
import { access, chmod, chown, constants, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { countAccounts, lockFirstAccount } from './accounts/accounts.ts';
import { operatorName } from './accounts/audit.ts';
import { addSecretOption, type CommandContext } from './core/cli.ts';
import { loadConfig } from './core/config.ts';
import { requireAnswer } from './core/db/pool.ts';
import type { Db } from './core/db/query.ts';
import { createDataDir, hasCode, ignoreCode, readIfExists } from './core/db/startup-error.ts';
import { transaction } from './core/db/transaction.ts';
import { parseEnvFile } from './core/env-file.ts';
import { invalidFields } from './core/errors.ts';
import { toMicros } from './core/money.ts';
import { loadSecretKey, type SecretKey } from './core/secrets.ts';
import { integer } from './core/setting-rules.ts';
import { SETTINGS } from './core/settings.ts';
import { setPrice } from './money/prices.ts';
import { createAccountTx, type NewAccount, newAdminPassword } from './operate/account-commands.ts';
import { listConnections } from './routing/connection-store.ts';
import { addConnection } from './routing/connections.ts';
import { addRoute } from './routing/routes.ts';

/**
 * `setup`: creates what `doctor` expects to find: a settings file, the database, the first account, an SMS carrier with
 * its route, and a price. Every answer is also an option. When run again, it keeps existing values.
 */
export function registerSetupCommand(program: Command, context: CommandContext): void {
  const setup = program
    .command('setup')
    .description('create settings, database, first account and carrier of an installation; keeps existing ones')
    .option('--settings-file <path>', 'settings file; by default HELIOGRAPH_ENV_FILE, or heliograph.env')
    .option('--data-dir <path>', 'data folder');
  addSecretOption(setup, '--database-url', 'URL of your own PostgreSQL; by default one runs in the data folder');
  setup
    .option('--public-url <url>', 'address at which carriers and users reach the gateway')
    .option('--trust-proxy <addresses>', 'addresses from which a TLS proxy connects')
    .option('--account <name>', 'name of the first account')
    .option('--credit <amount>', 'credit of the account, in currency units')
    .option('--carrier-host <host>', 'host of an SMPP carrier')
    .option('--carrier-port <port>', 'port of the carrier')
    .option('--carrier-system-id <id>', 'your system_id at the carrier');
  addSecretOption(setup, '--carrier-password', 'your password at the carrier');
  setup
    .option('--price <amount>', 'price of a part of an SMS, in currency units')
    .option('--yes', 'non-interactive: use defaults for everything not given')
    .action((flags: Flags) => run(context, flags));
  context.createsEnvFile(setup);
}

type Flags = Readonly<Record<string, unknown>>;
type Known = Readonly<Record<string, string | undefined>>;

/**
 * A question to the operator. The first of these that exists is the answer: the flag, a known value, what the operator
 * types, the fallback.
 */
type Question = {
  readonly flag: string;
  readonly text: string;
  readonly known?: string | undefined;
  readonly fallback?: string;
  /** Throws for an invalid answer; its message completes the sentence "The answer …". */
  readonly rule?: (answer: string) => unknown;
};
type Answer = (question: Question) => Promise<string>;

/** The carrier and the account to create; each only if there is none. */
type Wanted = {
  readonly name: string;
  readonly creditMicros: number;
  readonly priceMicros: number;
  readonly carrier: {
    readonly host: string;
    readonly port: number;
    readonly systemId: string;
    readonly password: string;
  } | null;
};

async function run(context: CommandContext, flags: Flags): Promise<void> {
  const ask = flags['yes'] === true ? null : context.ask;
  const answer = createAnswer(flags, ask, context.progress);
  const environment = context.settings();
  const path = { flag: 'settingsFile', text: 'Settings file', known: environment['HELIOGRAPH_ENV_FILE'] };
  const file = await readEnvFile(resolve(await answer({ ...path, fallback: 'heliograph.env' })));
  const known: Known = { ...environment, ...file.settings };
  const databaseUrl = await context.secrets.ofOption(flags, '--database-url');
  const given = SETTINGS.Data.databaseUrl.parse(databaseUrl ?? '');
  if (given !== undefined) await requireAnswer(given);
  const settings = await answerSettings(answer, known, databaseUrl);
  const wanted = await answerWanted(context, flags, answer);
  const config = loadConfig({ ...known, ...settings });
  await addSettings(file, Object.fromEntries(Object.entries(settings).filter(([name]) => !file.settings[name])));
  const secretKey = await loadSecretKey(config);
  const made = await context.withDatabase((pool) => make(pool, secretKey, wanted), { create: true, config });
  context.report({ file: file.path, ...made }, show);
}

function createAnswer(flags: Flags, ask: CommandContext['ask'], say: (line: string) => void): Answer {
  return async ({ flag, text, known = '', fallback = '', rule = () => undefined }) => {
    const given = flags[flag];
    if (typeof given === 'string') {
      const fault = faultOf(given.trim(), rule);
      // `--public-url` from `publicUrl`.
      const field = `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      if (fault !== null) throw invalidFields([{ field, message: fault }]);
      return given.trim();
    }
    if (known !== '') return known;
    if (ask === null) return fallback;
    for (;;) {
      const typed = (await ask(`${text}${fallback === '' ? '' : ` [${fallback}]`}: `)).trim() || fallback;
      const fault = faultOf(typed, rule);
      if (fault === null) return typed;
      say(`The answer ${fault}.`);
    }
  };
}

function faultOf(answer: string, rule: NonNullable<Question['rule']>): string | null {
  try {
    rule(answer);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns the settings, including those already known. A key is never replaced: everything sealed with it would be
 * lost.
 */
async function answerSettings(answer: Answer, known: Known, databaseUrl: string | undefined): Promise<Settings> {
  const dataDir = resolve(
    await answer({
      flag: 'dataDir',
      text: 'Data folder',
      known: known['DATA_DIR'],
      fallback: '/var/lib/heliograph',
      rule: isFolder,
    }),
  );
  await createDataDir(dataDir);
  const publicUrl = await answer({
    flag: 'publicUrl',
    text: 'Address at which carriers and users reach the gateway, such as https://sms.example.com (empty: this machine only)',
    known: known['PUBLIC_URL'],
    rule: isPublished,
  });
  const isEndedHere = Boolean(known['TLS_CERT']) || publicUrl === '';
  const proxy = { flag: 'trustProxy', text: 'Address from which the TLS proxy connects' };
  const rule = SETTINGS.Server.trustProxy.parse;
  return {
    DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(publicUrl !== '' && { PUBLIC_URL: publicUrl }),
    ...(isEndedHere
      ? {}
      : { TRUST_PROXY: await answer({ ...proxy, known: known['TRUST_PROXY'], fallback: '127.0.0.1', rule }) }),
    ...(known['SECRET_KEY'] || (await readIfExists(join(dataDir, 'secret.key'))) !== undefined
      ? {}
      : { SECRET_KEY: randomBytes(32).toString('hex') }),
    SANDBOX: known['SANDBOX'] || 'off',
  };
}

function isFolder(answer: string): void {
  // A shell would have expanded it, and no one means a folder of this name.
  if (answer === '' || answer.startsWith('~')) throw new Error('must be the path of a folder, without ~');
}

function isPublished(answer: string): void {
  if (answer !== '' && !answer.startsWith('https://')) throw new Error('must begin with https://');
  SETTINGS.Server.publicUrl.parse(answer);
}

async function answerWanted(context: CommandContext, flags: Flags, answer: Answer): Promise<Wanted> {
  const name = await answer({ flag: 'account', text: 'Name of the first account', fallback: 'Main' });
  const credit = { flag: 'credit', text: 'Credit of the account, in currency units', fallback: '100' };
  const price = { flag: 'price', text: 'Price of a part of an SMS, in currency units', fallback: '0' };
  const creditMicros = microsOf(await answer({ ...credit, rule: microsOf }));
  const priceMicros = microsOf(await answer({ ...price, rule: microsOf }));
  const host = await answer({
    flag: 'carrierHost',
    text: 'Host of your SMPP carrier (empty: later, or another kind)',
  });
  if (host === '') return { name, creditMicros, priceMicros, carrier: null };
  const port = await answer({
    flag: 'carrierPort',
    text: 'Port of the carrier',
    fallback: '2775',
    rule: integer(1, 65_535),
  });
  const systemId = await answer({ flag: 'carrierSystemId', text: 'Your system_id at the carrier' });
  const mayAsk = flags['yes'] !== true;
  const password = (await context.secrets.ofOption(flags, '--carrier-password', { required: true, mayAsk })) ?? '';
  return { name, creditMicros, priceMicros, carrier: { host, port: Number(port), systemId, password } };
}

function microsOf(answer: string): number {
  const micros = /^\d{1,9}(\.\d{1,6})?$/.test(answer) ? toMicros(Number(answer)) : null;
  if (micros === null) throw new Error('must be a number of 0 or more, with at most 6 decimals');
  return micros;
}

type Made = { readonly carrier: string | null; readonly account: NewAccount | null };

/** Creates what is missing: all of it or nothing. Of two concurrent runs, only one does. */
async function make(pool: Pool, key: SecretKey, wanted: Wanted): Promise<Made> {
  const secret = await newAdminPassword();
  return transaction(pool, async (tx) => {
    await lockFirstAccount(tx);
    const carrier = await makeCarrier(tx, key, wanted.carrier);
    if ((await countAccounts(tx)) > 0) return { carrier, account: null };
    const price = { channel: 'SMS', prefix: '', price: wanted.priceMicros / 1e6, refundUndelivered: false } as const;
    await setPrice(tx, { ...price, by: operatorName() });
    const { name, creditMicros } = wanted;
    return {
      carrier,
      account: await createAccountTx(tx, { name, plan: 'production', creditMicros, operator: true }, secret),
    };
  });
}

/** Adds an SMPP carrier and the route of all numbers to it, unless there is a real carrier. */
async function makeCarrier(tx: Db, key: SecretKey, wanted: Wanted['carrier']): Promise<string | null> {
  if (wanted === null || (await listConnections(tx)).some(({ sandbox }) => !sandbox)) return null;
  const { password, ...settings } = wanted;
  const [name, by] = ['carrier', operatorName()];
  await addConnection(tx, key, { name, kind: 'smpp', settings: { ...settings, tls: false }, secret: { password }, by });
  await addRoute(tx, { channel: 'SMS', prefix: '', connection: name, priority: 100, onUnknown: 'hold', by });
  return name;
}

const show = ({ file, carrier, account }: Made & { readonly file: string }): string =>
  [
    `The settings are in ${file}.`,
    'Copy SECRET_KEY, or DATA_DIR/secret.key, to where your other keys are, apart from the backups.',
    carrier === null ? 'No carrier was added: see `connection add --help`.' : `The carrier ${carrier} has all numbers.`,
    ...(account === null
      ? ['There was an account already.']
      : [
          'Save these credentials now; they are not shown again:',
          `  API key   ${account.apiKey}`,
          `  username  ${account.username}`,
          `  password  ${account.password}`,
        ]),
    `Start the program with these settings: HELIOGRAPH_ENV_FILE=${file} heliograph serve, or as a service. Then run \`doctor\`.`,
  ].join('\n');

type Settings = Readonly<Record<string, string>>;

type EnvFile = { readonly path: string; readonly text: string; readonly settings: Settings };

/**
 * Reads a file of settings, by the rules of systemd; one that does not exist is empty. Errors: 400 when it cannot be
 * read, or when this user could not write it: better before the questions than after them.
 */
async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await readFile(path, 'utf8')
    .catch(ignoreCode('ENOENT'))
    .catch((error: unknown) => refuse(path, 'cannot be read', error));
  await access(dirname(await behindLinks(path)), constants.W_OK).catch((error: unknown) =>
    refuse(path, 'cannot be written', error),
  );
  return { path, text: text ?? '', settings: parseEnvFile(text ?? '', path) };
}

/**
 * Adds settings at the end of the file; its content is unchanged, comments included. The file is readable by its owner
 * alone (mode 0600); one that exists keeps its group and the group's permissions, and if root writes it, its owner. It
 * is replaced as a whole, and a symbolic link stays one. Errors: 400 when it cannot be replaced; nothing is left behind
 * then.
 */
async function addSettings({ path, text }: EnvFile, more: Settings): Promise<void> {
  const lines = Object.entries(more).map(([name, value]) => `${name}=${quoted(value)}\n`);
  if (lines.length === 0) return;
  const target = await behindLinks(path);
  const draft = `${target}.${randomBytes(4).toString('hex')}`;
  try {
    const before = await stat(target).catch(ignoreCode('ENOENT'));
    const whole = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('')}`;
    await writeFile(draft, whole, { mode: 0o600, flag: 'wx', flush: true });
    // -1: the owner stays as it is.
    if (before) await chown(draft, process.getuid?.() === 0 ? before.uid : -1, before.gid);
    if (before) await chmod(draft, 0o600 | (before.mode & 0o060));
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    refuse(path, 'cannot be written', error);
  }
}

/**
 * Quotes a value. Between single quotes everything stands for itself, but they cannot contain one; between double
 * quotes these are escaped.
 */
const quoted = (value: string): string =>
  /^[\w@%+=:,./-]*$/.test(value)
    ? value
    : value.includes("'")
      ? `"${value.replace(/["\\`$]/g, '\\$&')}"`
      : `'${value}'`;

const behindLinks = async (path: string): Promise<string> => (await realpath(path).catch(ignoreCode('ENOENT'))) ?? path;

function refuse(path: string, what: string, error: unknown): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const cure = hasCode(error, 'ENOENT')
    ? 'Name a file in a folder that exists.'
    : `User id ${process.getuid?.()} needs the right to read and write in ${dirname(path)}.`;
  throw invalidFields([{ field: '--settings-file', message: `${path} ${what} (${String(error.code)}). ${cure}` }]);
}
