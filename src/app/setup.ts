import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { listAccounts } from '../identity/accounts/sql.ts';
import { examine } from '../operations/diagnosis/examine.ts';
import type { Finding } from '../operations/diagnosis/finding.ts';
import type { NewAccount } from '../operations/accounts/create.ts';
import { setUpAccount } from '../operations/setup/account.ts';
import { setUpAlerts } from '../operations/setup/alerts.ts';
import { setUpAddress } from '../operations/setup/address.ts';
import { type Answers, createAnswers, type Flags } from '../operations/setup/answers.ts';
import { setUpCarrier } from '../operations/setup/carrier.ts';
import { setUpDatabase } from '../operations/setup/database.ts';
import { type EnvFile, readEnvFile, type Settings, withSettings, writeEnvFile } from '../operations/setup/env-file.ts';
import { confirmKeyCopy } from '../operations/setup/key-copy.ts';
import { setUpPrice } from '../operations/setup/price.ts';
import { setUpSecretKey } from '../operations/setup/secret-key.ts';
import type { Done, Wanted } from '../operations/setup/step.ts';
import { askWebhook, setUpWebhook } from '../operations/setup/webhook.ts';
import type { CommandContext } from '../platform/cli.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import { createNodeServer } from '../platform/http/server.ts';
import { createOutbound } from '../platform/outbound/outbound.ts';
import { addSecretOption } from '../platform/secret-input.ts';
import { loadSecretKey } from '../platform/secret-key.ts';
import { showFinding } from './doctor.ts';
import { interruptible, sendTest, type Tested, whileRunning } from './setup-check.ts';

/**
 * `setup`: the first hour of an installation. It asks for what is missing, writes a file of settings, creates the database,
 * the first account with its webhook, a carrier with its route, a price and a recipient of alerts, and ends with the
 * findings of `doctor`. Every answer is also an option. Run again, it keeps what is there.
 */
export function registerSetupCommand(program: Command, context: CommandContext): void {
  const setup = program
    .command('setup')
    .description(
      'set up an installation: settings, database, account, carrier and price; run again, it keeps what is there',
    )
    .option(
      '--settings-file <path>',
      'the file of settings to write; by default that in HELIOGRAPH_ENV_FILE, or heliograph.env',
    )
    .option('--data-dir <path>', 'folder for the data')
    .option('--database <which>', '"own" for a PostgreSQL of yours, "built-in" for one in the folder for the data');
  addSecretOption(setup, '--database-url', 'URL of a PostgreSQL of yours');
  setup
    .option('--public-url <url>', 'the address that carriers and users reach')
    .option('--tls-cert <path>', 'PEM file with its certificate; without it a proxy in front has it')
    .option('--tls-key <path>', 'PEM file with its private key')
    .option('--trust-proxy <addresses>', 'addresses from which the proxy connects')
    .option('--host <address>', 'address to listen on, with a certificate')
    .option('--port <port>', 'port to listen on, with a certificate')
    .option('--account <name>', 'name of the first account')
    .option('--credit <amount>', 'its credit, in currency units')
    .option('--carrier-host <host>', 'host of an SMS carrier by SMPP')
    .option('--carrier-name <name>', 'a name for it')
    .option('--carrier-port <port>', 'its port')
    .option('--carrier-system-id <id>', 'your system_id there')
    .option('--carrier-tls <yes|no>', 'whether it uses TLS');
  addSecretOption(setup, '--carrier-password', 'your password there');
  setup
    .option('--price <amount>', 'price of a part of an SMS, in currency units')
    .option('--webhook-url <url>', 'where the events of the first account are posted')
    .option('--alert-mail <address>', 'mail address to which alerts are sent')
    .option('--alert-webhook <url>', 'URL to which alerts are posted')
    .option('--secret-key-copied', 'a copy of the secret key is kept elsewhere, apart from the backups')
    .option('--test-to <number>', 'send a test message to this number, in E.164 format')
    .option('--yes', 'ask nothing: what no option says is left as it is by default')
    .action((flags: Flags) => run(context, flags));
  context.createsEnvFile(setup);
}

type Result = {
  readonly file: string;
  readonly steps: readonly Done[];
  readonly account: NewAccount | null;
  /** They sign events, and messages about alerts; null where none was made. */
  readonly secrets: { readonly webhook: string | null; readonly alerts: string | null };
  readonly findings: readonly Finding[];
  readonly test: Tested | null;
};

async function run(context: CommandContext, flags: Flags): Promise<void> {
  const ask = flags['yes'] === true ? null : context.ask;
  const answers = createAnswers({ flags, ask, say: context.progress, secrets: context.secrets });
  const environment = context.settings();
  const known = environment['HELIOGRAPH_ENV_FILE'];
  const asked = { flag: 'settingsFile', text: 'File of settings', known, fallback: 'heliograph.env' };
  const path = resolve(await answers.text(asked));
  const file = await readEnvFile(path);
  const { settings, done } = await answerSettings(answers, file, environment);
  const config = loadConfig({ ...environment, ...settings });
  const news = changes(file, settings);
  const text = withSettings(file.text, news);
  if (text !== file.text) await writeEnvFile(path, text);
  const copy = await confirmKeyCopy(answers, { path, text }, new Date());
  if (copy.line !== null) await writeEnvFile(path, `${text}${copy.line}\n`);
  const result = await context.withDatabase((pool, databaseUrl) => fill({ config, pool, databaseUrl }, answers), {
    create: true,
    config,
  });
  const { findings, test } = result;
  const ok = findings.every((finding) => finding.ok) && test?.ok !== false;
  context.report({ file: path, ...result, steps: [...done, copy.done, ...result.steps] }, show, ok);
}

/** Asks for the settings, each step with those of the steps before it. */
async function answerSettings(
  answers: Answers,
  file: EnvFile,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ settings: Settings; done: Done[] }> {
  const known = (): Partial<Settings> => ({ ...(environment as Partial<Settings>), ...file.settings, ...settings });
  let settings: Settings = {};
  const done: Done[] = [];
  const take = ({ step, detail, settings: wanted }: Wanted): void => {
    settings = { ...settings, ...wanted };
    done.push({ step, detail, changed: Object.keys(changes(file, wanted)).length > 0 });
  };
  take(await setUpDatabase(answers, known()));
  take(await setUpAddress(answers, known()));
  take(await setUpSecretKey(known()));
  const sandbox = known()['SANDBOX'] || 'off';
  take({ step: 'sandbox', detail: sandbox, settings: { SANDBOX: sandbox } });
  return { settings: { ...file.settings, ...settings }, done };
}

const changes = (file: EnvFile, wanted: Settings): Settings =>
  Object.fromEntries(Object.entries(wanted).filter(([name, value]) => file.settings[name] !== value));

/** What was made so far; credentials are in here alone, and are shown once. */
type Made = {
  readonly steps: Done[];
  account: Result['account'];
  readonly secrets: { webhook: string | null; alerts: string | null };
};

async function fill(
  { config, pool, databaseUrl }: { readonly config: Config; readonly pool: Pool; readonly databaseUrl: string },
  answers: Answers,
): Promise<Omit<Result, 'file'>> {
  const installation = { config: { ...config, databaseUrl }, pool };
  const made: Made = { steps: [], account: null, secrets: { webhook: null, alerts: null } };
  return interruptible(async (signal) => {
    try {
      await make(made, { config, pool }, answers);
    } catch (error) {
      if (credentialLines(made).length === 0) throw error;
      return { ...made, ...notChecked(error) };
    }
    const checked = await whileRunning(installation, () => check(installation, answers, signal), signal).catch(
      notChecked,
    );
    return { ...made, ...checked };
  });
}

/** Makes what is missing in the database. `made` says at any time what there is already, so that no credential is lost. */
async function make(
  made: Made,
  { config, pool }: { readonly config: Config; readonly pool: Pool },
  answers: Answers,
): Promise<void> {
  const isFirst = (await listAccounts(pool)).length === 0;
  const secretKey = await loadSecretKey(config);
  const { guard, poster } = await createOutbound(config);
  await poster.close();
  made.steps.push(await setUpCarrier(pool, secretKey, answers));
  made.steps.push(await setUpPrice(pool, answers, isFirst));
  const asked = await askWebhook(pool, guard, answers);
  const alerts = await setUpAlerts(pool, { secretKey, guard, hasMail: config.mail !== undefined }, answers);
  made.steps.push(alerts.done);
  made.secrets.alerts = alerts.secret;
  const { done, created } = await setUpAccount(pool, answers);
  made.steps.push(done);
  made.account = created;
  const webhook = await setUpWebhook(pool, secretKey, asked);
  made.steps.push(webhook.done);
  made.secrets.webhook = webhook.secret;
}

async function check(
  installation: { readonly config: Config; readonly pool: Pool },
  answers: Answers,
  signal: AbortSignal,
): Promise<Pick<Result, 'findings' | 'test'>> {
  const makeServer = (): unknown => createNodeServer(installation.config, () => undefined);
  const findings = await examine({ ...installation, makeServer });
  signal.throwIfAborted();
  const test = await testMessage(installation, answers, signal).catch((error: unknown) => ({
    ok: false,
    detail: textOf(error),
  }));
  return { findings, test };
}

async function testMessage(
  installation: { readonly config: Config; readonly pool: Pool },
  answers: Answers,
  signal: AbortSignal,
): Promise<Tested | null> {
  const to = await answers.text({ flag: 'testTo', text: 'Number for a test message, in E.164 format (empty: none)' });
  return to === '' ? null : sendTest(installation, { to, signal });
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function notChecked(error: unknown): Pick<Result, 'findings' | 'test'> {
  const advice = 'What was set up stays. Correct this, and run `setup` again.';
  return { findings: [{ name: 'check', ok: false, detail: textOf(error), advice }], test: null };
}

const show = ({ file, steps, account, secrets, findings, test }: Result): string =>
  [
    ...steps.map(({ step, changed, detail }) => `${changed ? 'set ' : 'ok  '} ${step}: ${detail}`),
    `The settings are in ${file}.`,
    ...showOnce({ account, secrets }),
    'What `doctor` finds:',
    ...findings.map(showFinding),
    ...(test ? [`${test.ok ? 'ok  ' : 'BAD '} test message: ${test.detail}`] : []),
    `Start the program with these settings: HELIOGRAPH_ENV_FILE=${file} heliograph serve, or as a service.`,
    'More carriers: `connection add --help`, of the kinds smpp, http, whatsapp and rcs. Test the alerts: `alerts test`.',
  ].join('\n');

function showOnce(made: Pick<Result, 'account' | 'secrets'>): string[] {
  const lines = credentialLines(made);
  return lines.length === 0 ? [] : ['Save these credentials now; they are not shown again:', ...lines];
}

const credentialLines = ({ account, secrets: { webhook, alerts } }: Pick<Result, 'account' | 'secrets'>): string[] => [
  ...(account
    ? [`  API key   ${account.apiKey}`, `  username  ${account.username}`, `  password  ${account.password}`]
    : []),
  ...(webhook === null ? [] : [`  webhook   ${webhook}`]),
  ...(alerts === null ? [] : [`  alerts    ${alerts}`]),
];
