import type { Command } from 'commander';
import type { CommandContext } from '../platform/cli.ts';
import type { Config } from '../platform/config.ts';
import { registerSandboxInbound } from '../simulators/sandbox/commands.ts';
import { startSandboxSmsc } from '../simulators/smsc/smsc.ts';
import { type Program, type Roles, startProgram } from './serve.ts';
import { exitSoon, followStopSignals } from './stop.ts';

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
    .option('--password <password>', 'accept only this password')
    .option('--receipt-delay <ms>', 'time from submit to receipt', Number, 500)
    .option('--deliver-window <n>', 'maximum number of unacknowledged deliver_sm per bind', Number, 100)
    .option('--ledger <file>', 'append all accepted and delivered messages to a file, as NDJSON')
    .action(async (options: SandboxFlags) => {
      const smsc = await startSandboxSmsc({
        port: options.port,
        systemId: options.systemId,
        password: options.password,
        receiptDelayMs: options.receiptDelay,
        deliverWindow: options.deliverWindow,
        ledger: options.ledger === undefined ? 'counts' : 'entries',
        ledgerFile: options.ledger,
      });
      context.report({ port: smsc.port }, ({ port }) => `Sandbox SMSC on 127.0.0.1:${port}`);
      await followStopSignals().stopped;
      await smsc.close();
    });
  registerSandboxInbound(sandbox, context);
}

type SandboxFlags = {
  port: number;
  systemId?: string;
  password?: string;
  receiptDelay: number;
  deliverWindow: number;
  ledger?: string;
};

async function run(config: Config, roles: Roles, context: CommandContext): Promise<void> {
  const stopping = followStopSignals();
  try {
    const program = await startProgram(config, roles, stopping);
    const { address, health, demo } = program;
    context.report({ address, health, demo: demo ?? null }, () => welcome(config, program));
    await stopping.stopped;
    await program.stop();
  } catch (error) {
    // Stopped while it started: that is no failure.
    if (error !== stopping.signal.reason) throw error;
  } finally {
    exitSoon();
  }
}

function welcome({ dataDir, databaseUrl }: Config, { address, health, demo }: Program): string {
  if (address === null)
    return `The Heliograph worker is running${health === null ? '' : ` (health: ${health}/health/ready)`}. Ctrl+C stops it.`;
  const head = `Heliograph is running: open ${address} in a browser   (API reference: ${address}/docs, Ctrl+C stops it)`;
  if (demo) return [head, ...showDemo(demo, address)].join('\n');
  return databaseUrl === undefined ? `${head}\nThe demo credentials are in ${dataDir}/demo.json` : head;
}

const showDemo = ({ username, password, apiKey }: NonNullable<Program['demo']>, address: string): string[] => [
  '',
  'A demo account was created (saved in demo.json in the data folder):',
  `  user      ${username}`,
  `  password  ${password}`,
  `  API key   ${apiKey}`,
  '',
  'Send a first message through the sandbox carrier:',
  `  curl -X POST ${address}/api/message-server/sms/send -H 'X-API-Key: ${apiKey}' \\`,
  `    -H 'Content-Type: application/json' -d '{"phoneNumber":"+393331234567","message":"Hello"}'`,
];
