import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { registerSingleSignOnCommands } from './accounts/single-sign-on-change.ts';
import { registerOperatorCommands, registerUserCommands } from './accounts/user-routes.ts';
import { exitSoon, followStopSignals, registerDirectoryCommand } from './base.ts';
import { registerCellCommands } from './cells/move.ts';
import { addSecretOption, type CommandContext, type CommandGroup } from './core/cli.ts';
import type { Config } from './core/config.ts';
import { registerConsentCommands } from './messages/consent.ts';
import { registerInboundCommands } from './messages/inbound.ts';
import { registerUnknownCommands } from './messages/unknown-admin.ts';
import { registerAccountCommands } from './operate/account-commands.ts';
import { registerBackupCommands } from './operate/backups.ts';
import { registerRestoreGuardCommands } from './operate/restore-guard.ts';
import { registerOperations } from './operations.ts';
import { registerDoctorCommand } from './probes.ts';
import { registerConnectionCommands } from './routing/connection-commands.ts';
import { registerSandboxInbound, registerSandboxRetirement } from './sandbox/sandbox-commands.ts';
import { startSandboxSmsc } from './sandbox/smsc.ts';
import { type Program, type Roles, startProgram } from './serve.ts';
import { registerSetupCommand } from './setup.ts';
import { registerWebhookCommands } from './webhooks/routes.ts';

/** `serve`, `api`, `worker` and `sandbox`, which run until they are stopped, and `migrate`. */
export function registerServeCommands(program: Command, context: CommandContext): void {
  const role = (name: string, description: string, roles: Roles): void => {
    program
      .command(name)
      .description(description)
      .action(() => run(context.config(), roles, context));
  };
  role('serve', 'run everything in one process', { api: true, worker: true, sandbox: true });
  role('api', 'run only the HTTP API and the console', { api: true, worker: false, sandbox: false });
  role('worker', 'run only the carrier connections and background work', { api: false, worker: true, sandbox: false });

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

async function run(config: Config, roles: Roles, context: CommandContext): Promise<void> {
  const stopping = followStopSignals();
  try {
    const program = await startProgram(config, roles, stopping);
    const { address, health, demo, stop } = program;
    context.report({ address, health, demo: demo ?? null }, () => welcome(config, program));
    await stopping.stopped;
    await stop();
  } catch (error) {
    // Stopped during the start: that is not an error.
    if (error !== stopping.signal.reason) throw error;
  } finally {
    exitSoon();
  }
}

function welcome({ dataDir, databaseUrl, sandbox }: Config, { address, health, demo }: Program): string {
  if (address === null)
    return `The Heliograph worker is running${health === null ? '' : ` (health: ${health}/health/ready)`}. Ctrl+C stops it.`;
  const head = `Heliograph is running: open ${address} in a browser   (API reference: ${address}/docs, Ctrl+C stops it)`;
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

/** THE list of commands, in the order of `--help`. */
export const COMMANDS: readonly CommandGroup[] = [
  registerServeCommands,
  registerSetupCommand,
  registerAccountCommands,
  registerOperatorCommands,
  registerUserCommands,
  registerSingleSignOnCommands,
  registerConnectionCommands,
  registerConsentCommands,
  registerInboundCommands,
  registerUnknownCommands,
  registerBackupCommands,
  registerRestoreGuardCommands,
  registerWebhookCommands,
  registerCellCommands,
  registerDirectoryCommand,
  registerDoctorCommand,
  registerOperations,
  describeGroups,
];

/** The groups of `--help`; a description is that of a command whose subcommands are operations of the API alone. */
const OVERVIEW: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  'The program': { serve: null, api: null, worker: null, migrate: null, setup: null, doctor: null, sandbox: null },
  'Accounts and people': {
    account: null,
    key: 'API keys of the accounts',
    operator: null,
    user: null,
    'single-sign-on': null,
    consent: null,
    webhook: null,
    smpp: 'customers that are bound over SMPP',
  },
  'Carriers and routes': {
    connection: null,
    route: 'routes of numbers to connections, and their policies',
    lookup: 'services that know the networks of numbers',
    sender: 'WhatsApp phone numbers and RCS agents, and the accounts that may send as them',
    'sender-rule': 'senders that SMS may have in a country',
    'registered-sender': 'senders that were registered in a country',
    'dlt-template': 'texts that were registered in India',
    'number-pool': 'pools of numbers, of which each recipient gets messages from one; send as pool:NAME',
    number: 'the accounts to which inbound messages go, by number',
    template: 'WhatsApp and RCS templates',
  },
  Money: {
    price: 'prices of messages',
    cost: 'charges of carriers',
    credit: 'credit of the accounts',
    margin: 'margins by account, country or connection',
  },
  Messages: {
    inbound: null,
    queue: 'waiting messages and the workers that process them',
    schedule: 'scheduled messages whose time was missed',
    receipts: 'delivery receipts',
    unknown: null,
    alerts: 'open alerts, their rules and their recipients',
    audit: 'who changed what',
  },
  'Data and installations': { backup: null, fence: null, cell: null, directory: null },
  'Everything else': { call: 'all other operations of the API, by their operation ids (docs/operations.md)' },
};

function describeGroups(program: Command): void {
  for (const [heading, commands] of Object.entries(OVERVIEW))
    for (const [name, description] of Object.entries(commands)) {
      const command = program.commands.find((each) => each.name() === name)?.helpGroup(`${heading}:`);
      if (description !== null) command?.description(description);
    }
}
