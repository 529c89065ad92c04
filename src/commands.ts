import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { registerKeyCommands } from './accounts/api-key-routes.ts';
import { registerSingleSignOnCommands } from './accounts/single-sign-on-change.ts';
import { registerOperatorCommands, registerUserCommands } from './accounts/user-routes.ts';
import { exitSoon, followStopSignals, registerDirectoryCommand } from './base.ts';
import { wakeCampaignsUsing } from './campaigns/lifecycle.ts';
import { registerCellCommands } from './cells/move.ts';
import { registerContactCommands } from './contacts/routes.ts';
import { addSecretOption, type CommandContext, type CommandGroup } from './core/cli.ts';
import type { Config } from './core/config.ts';
import { loadSecretKey } from './core/secrets.ts';
import { SETTINGS } from './core/settings.ts';
import { registerConsentCommands } from './messages/consent.ts';
import { registerInboundCommands } from './messages/inbound.ts';
import { registerReceiptCommands } from './messages/receipts.ts';
import { registerScheduleCommands } from './messages/schedules.ts';
import { registerUnknownCommands } from './messages/unknown-admin.ts';
import { registerCreditCommands } from './money/credit-routes.ts';
import { registerPriceCommands } from './money/prices.ts';
import { registerAccountCommands } from './operate/account-commands.ts';
import { registerAlertCommands } from './operate/alerts.ts';
import { registerBackupCommands } from './operate/backups.ts';
import { registerRestoreGuardCommands } from './operate/restore-guard.ts';
import { registerSenderRuleCommands } from './operate/sender-rules.ts';
import { registerDoctorCommand } from './probes.ts';
import { type ManyProcesses, runMember, serveMany } from './processes.ts';
import { registerConnectionCommands } from './routing/connection-commands.ts';
import { registerCostCommands } from './routing/cost-admin.ts';
import { registerLookupCommands } from './routing/number-lookup-admin.ts';
import { registerRouteCommands } from './routing/route-commands.ts';
import { registerSandboxInbound, registerSandboxRetirement } from './sandbox/sandbox-commands.ts';
import { startSandboxSmsc } from './sandbox/smsc.ts';
import { type Program, type Roles, startProgram } from './serve.ts';
import { registerSetupCommand } from './setup.ts';
import { registerSenderCommands } from './templates/assignments.ts';
import { syncNamed } from './templates/sync.ts';
import { registerWebhookCommands } from './webhooks/routes.ts';

const SERVE: Roles = { api: true, worker: true, sandbox: true };

/** `serve`, `api`, `worker` and `sandbox`, which run until they are stopped, and `migrate`. */
export function registerServeCommands(program: Command, context: CommandContext): void {
  const role = (name: string, description: string, roles: Roles): void => {
    program
      .command(name)
      .description(description)
      .action(() => run(context.config(), roles, context));
  };
  program
    .command('serve')
    .description('run everything: in one process, or in several at one address')
    .option('--processes <n>', 'number of processes, instead of the setting PROCESSES', parseProcesses)
    .action(({ processes }: { processes?: Config['processes'] }) => {
      const config = context.config();
      return run({ ...config, processes: processes ?? config.processes }, SERVE, context);
    });
  role('api', 'run only the HTTP API and the console', { api: true, worker: false, sandbox: false });
  role('worker', 'run only the carrier connections and background work', { api: false, worker: true, sandbox: false });

  program.command('serve-process', { hidden: true }).action(() => runMember(context.config()).finally(exitSoon));

  program
    .command('migrate')
    .description('update the database schema; without DATABASE_URL, create the database in DATA_DIR if there is none')
    .action(() =>
      context.withDatabase(async () => context.report({ migrated: true }, () => 'The schema is up to date.'), {
        create: true,
      }),
    );

  const sandbox = program
    .command('sandbox')
    .description('run a standalone sandbox SMSC (SMPP 3.4) for trials and tests')
    .option('--port <port>', 'port on 127.0.0.1', Number, 2775)
    .option('--system-id <id>', 'accept only this system_id')
    .option('--receipt-delay <ms>', 'time from submit to receipt', Number, 500)
    .option('--deliver-window <n>', 'maximum number of unacknowledged deliver_sm per bind', Number, 100)
    .option('--ledger <file>', 'append all accepted and delivered messages to a file, as NDJSON')
    .action(async (options: SandboxFlags) => {
      const smsc = await startSandboxSmsc({
        port: options.port,
        systemId: options.systemId,
        password: await context.secrets.ofOption(options, '--password'),
        receiptDelayMs: options.receiptDelay,
        deliverWindow: options.deliverWindow,
        ledger: options.ledger === undefined ? 'counts' : 'entries',
        ledgerFile: options.ledger,
      });
      context.report({ port: smsc.port }, ({ port }) => `Sandbox SMSC on 127.0.0.1:${port}`);
      await followStopSignals().stopped;
      await smsc.close();
    });
  addSecretOption(sandbox, '--password', 'accept only this password');
  registerSandboxInbound(sandbox, context);
  registerSandboxRetirement(sandbox, context);
}

type SandboxFlags = Readonly<Record<string, unknown>> & {
  port: number;
  systemId?: string;
  receiptDelay: number;
  deliverWindow: number;
  ledger?: string;
};

function parseProcesses(value: string): Config['processes'] {
  try {
    return SETTINGS.Server.processes.parse(value);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

async function run(config: Config, roles: Roles, context: CommandContext): Promise<void> {
  const stopping = followStopSignals();
  const count = roles === SERVE ? config.processes : 1;
  try {
    const program: Program & Partial<ManyProcesses> =
      count > 1 ? await serveMany(config, count, stopping) : await startProgram(config, roles, { stopping });
    const { address, health, demo, stop } = program;
    const pids = program.pids && { processes: program.pids() };
    context.report({ address, health, demo: demo ?? null, ...pids }, () => welcome(config, program));
    const failure = await Promise.race([stopping.stopped, ...(program.failed ? [program.failed] : [])]);
    await stop();
    if (failure) throw failure;
  } catch (error) {
    // Stopped during the start: that is not an error.
    if (error !== stopping.signal.reason) throw error;
  } finally {
    exitSoon();
  }
}

function welcome({ dataDir, databaseUrl, sandbox }: Config, program: Program & Partial<ManyProcesses>): string {
  const { address, health, demo } = program;
  if (address === null)
    return `The Heliograph worker is running${health === null ? '' : ` (health: ${health}/health/ready)`}. Ctrl+C stops it.`;
  const many = program.pids ? ` in ${program.pids().length} processes` : '';
  const head = `Heliograph is running${many}: open ${address} in a browser   (API reference: ${address}/docs, Ctrl+C stops it)`;
  if (demo) return [head, ...showDemo(demo), ...(sandbox ? showFirstMessage(demo, address) : NO_CARRIER)].join('\n');
  // An installation made by `setup` has no demo account.
  const saved = join(dataDir, 'demo.json');
  return databaseUrl === undefined && existsSync(saved) ? `${head}\nThe demo credentials are in ${saved}` : head;
}

type Demo = NonNullable<Program['demo']>;

const showDemo = ({ username, password, apiKey }: Demo): string[] => [
  '',
  'A demo account was created (saved in demo.json in the data folder):',
  `  user      ${username}`,
  `  password  ${password}`,
  `  API key   ${apiKey}`,
  '',
];

const NO_CARRIER = [
  'Before a message can be sent, connect a carrier: heliograph connection add --help, or the page Connections of the console.',
];

const showFirstMessage = ({ apiKey }: Demo, address: string): string[] => [
  'Send a first message through the sandbox carrier:',
  `  curl -X POST ${address}/api/message-server/sms/send -H 'X-API-Key: ${apiKey}' \\`,
  `    -H 'Content-Type: application/json' -d '{"phoneNumber":"+393331234567","message":"Hello"}'`,
];

/** `template sync`. */
function registerTemplateCommands(program: Command, context: CommandContext): void {
  program
    .command('template')
    .description('WhatsApp templates')
    .command('sync')
    .argument('<connection>', 'name of a WhatsApp connection')
    .description('fetch the templates and numbers from the network; a running program does so every ten minutes')
    .action(async (name: string) => {
      const secretKey = await loadSecretKey(context.config());
      const synced = await context.withDatabase((pool) =>
        syncNamed({ pool, secretKey, onTemplatesChange: wakeCampaignsUsing }, name),
      );
      const text = synced.ok ? `${synced.templates} templates.` : `The network cannot be reached: ${synced.why}`;
      context.report(synced, () => text, synced.ok);
    });
}

/** THE list of commands, in the order of `--help`. */
export const COMMANDS: readonly CommandGroup[] = [
  registerServeCommands,
  registerSetupCommand,
  registerAccountCommands,
  registerKeyCommands,
  registerOperatorCommands,
  registerUserCommands,
  registerSingleSignOnCommands,
  registerConnectionCommands,
  registerRouteCommands,
  registerLookupCommands,
  registerSenderCommands,
  registerSenderRuleCommands,
  registerTemplateCommands,
  registerPriceCommands,
  registerCostCommands,
  registerCreditCommands,
  registerContactCommands,
  registerConsentCommands,
  registerInboundCommands,
  registerReceiptCommands,
  registerUnknownCommands,
  registerScheduleCommands,
  registerBackupCommands,
  registerRestoreGuardCommands,
  registerWebhookCommands,
  registerAlertCommands,
  registerCellCommands,
  registerDirectoryCommand,
  registerDoctorCommand,
];
