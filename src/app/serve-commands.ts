import type { Command } from 'commander';
import type { CommandContext } from '../platform/cli.ts';
import type { Config } from '../platform/config.ts';
import { registerSandboxInbound } from '../simulators/sandbox/commands.ts';
import { startSandboxSmsc } from '../simulators/smsc/smsc.ts';
import { type Program, type Roles, startProgram } from './serve.ts';

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
    .description('update the database schema')
    .action(() =>
      context.withDatabase(async () => context.report({ migrated: true }, () => 'The schema is up to date.')),
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
      await waitForStopSignal();
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
  const stopped = waitForStopSignal();
  const program = await startProgram(config, roles);
  const { address, health, demo } = program;
  context.report({ address, health, demo: demo ?? null }, () => welcome(config, program));
  await stopped;
  await program.stop();
}

/** Under npm, Ctrl+C arrives twice: from the terminal and through npm. Within this time both count as one. */
const DUPLICATE_SIGNAL_MS = 1000;

type SignalSource = { on(signal: NodeJS.Signals, listener: () => void): unknown; exit(code: number): unknown };

/** Resolves at the first SIGTERM or SIGINT. Another signal more than a second later ends the process at once. */
export function waitForStopSignal(own: SignalSource = process, now = () => performance.now()): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstAt: number | undefined;
  const stop = (): void => {
    firstAt ??= now();
    if (now() - firstAt > DUPLICATE_SIGNAL_MS) own.exit(1);
    resolve();
  };
  own.on('SIGTERM', stop);
  own.on('SIGINT', stop);
  return promise;
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
