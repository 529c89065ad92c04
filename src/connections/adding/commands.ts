import { type Command, Option } from 'commander';
import type { CommandContext } from '../../cli.ts';
import { loadSecretKey } from '../../secret-key.ts';
import { createConnection, type NewConnection } from '../save.ts';
import { readSettings } from './read-settings.ts';

/** `connection add smpp`: the options of each kind. What they leave out is given with `--set`. */
export function registerAddCommands(add: Command, context: CommandContext): void {
  addSmpp(add, context);
}

type Named = { name: string; set: string[] };
type SmppFlags = Named & {
  host: string;
  port: number;
  systemId: string;
  password: string;
  bind: string;
  binds: number;
  window: number;
  tps: number;
  tls?: true;
};

function addSmpp(add: Command, context: CommandContext): void {
  add
    .command('smpp')
    .description('add an SMPP 3.4 carrier')
    .requiredOption('--name <name>', 'name of the connection')
    .requiredOption('--host <host>', 'host of the carrier')
    .option('--port <port>', 'port of the carrier', Number, 2775)
    .requiredOption('--system-id <id>', 'system_id')
    .requiredOption('--password <password>', 'password')
    .addOption(new Option('--bind <mode>', 'bind mode').choices(['trx', 'tx+rx', 'tx', 'rx']).default('trx'))
    .option('--binds <n>', 'binds at the same time', Number, 1)
    .option('--window <n>', 'unanswered messages a bind', Number, 10)
    .option('--tps <n>', 'parts a second over all binds; 0 is no limit', Number, 0)
    .option('--tls', 'TLS from the first byte')
    .option('--set <name=value...>', 'any other setting, see docs/carriers.md', [])
    .action(async ({ name, password, set, ...flags }: SmppFlags) => {
      const settings = { ...flags, tls: flags.tls ?? false, ...readSettings(set) };
      const { id } = await create(context, { name, settings, secret: password });
      context.report(
        { id, name },
        () => `Connection ${name} (id ${id}) was added. Give it a route: route add --channel SMS --connection ${name}`,
      );
    });
}

async function create(context: CommandContext, input: Omit<NewConnection, 'sandbox'>): Promise<{ id: number }> {
  const key = await loadSecretKey(context.config());
  return context.withDatabase((pool) => createConnection(pool, key, { ...input, sandbox: false }));
}
