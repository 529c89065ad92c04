import { type Command, Option } from 'commander';
import { createSmppCarrier } from '../carriers/smpp/carrier.ts';
import { parseSmppSettings } from '../carriers/smpp/settings.ts';
import { type CommandContext, table } from '../cli.ts';
import { AppError } from '../errors.ts';
import { notifyRoutes } from '../routing/sql.ts';
import { loadSecretKey } from '../secret-key.ts';
import { removeConnection } from './remove.ts';
import { createConnection, passwordOf, updateConnection } from './save.ts';
import { findConnection, listConnectionStatus, moveConnectionStatus } from './sql.ts';

type SmppFlags = {
  name: string;
  host: string;
  port: number;
  systemId: string;
  password: string;
  bind: string;
  binds: number;
  window: number;
  tps: number;
  tls?: true;
  set: string[];
};

/** `connection add smpp`, `update`, `list`, `test`, `pause`, `resume` and `remove`. */
export function registerConnectionCommands(program: Command, context: CommandContext): void {
  const connection = program.command('connection').description('the links to carriers');
  addSmpp(connection.command('add').description('add a connection; a running program connects at once'), context);
  addUpdate(connection, context);

  connection
    .command('list')
    .description('all connections, and whether they are up')
    .action(async () =>
      context.report(await context.withDatabase(listConnectionStatus), (rows) =>
        table(
          ['name', 'status', 'up', 'binds', 'fault'],
          rows.map((c) => [c.name, c.status, c.up ? 'yes' : 'no', `${c.bindsUp}/${c.bindsWanted}`, c.fault ?? '']),
        ),
      ),
    );

  connection
    .command('test')
    .argument('<name>')
    .description('bind once from here, and say what the carrier answered')
    .action(async (name: string) => {
      const result = await testConnection(context, name);
      context.report(result, ({ detail }) => detail, result.ok);
    });

  connection
    .command('remove')
    .argument('<name>')
    .description('remove a connection that no route leads to and no message waits for')
    .action(async (name: string) => {
      await context.withDatabase((pool) => removeConnection(pool, { name }));
      context.report({ name }, () => `Connection ${name} was removed.`);
    });

  for (const [verb, status] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const)
    connection
      .command(verb)
      .argument('<name>')
      .description(
        `set a connection to ${status}; its messages ${status === 'paused' ? 'go over the next one of their route, or wait' : 'go on'}`,
      )
      .action(async (name: string) => {
        await context.withDatabase(async (pool) => {
          if (!(await findConnection(pool, { name }))) throw unknownConnection(name);
          await moveConnectionStatus(pool, { name, status });
          await notifyRoutes(pool);
        });
        context.report({ name, status }, () => `Connection ${name} is ${status}.`);
      });
}

function addSmpp(add: Command, context: CommandContext): void {
  const number = (text: string): number => Number(text);
  add
    .command('smpp')
    .description('add an SMPP 3.4 carrier')
    .requiredOption('--name <name>', 'name of the connection')
    .requiredOption('--host <host>', 'host of the carrier')
    .option('--port <port>', 'port of the carrier', number, 2775)
    .requiredOption('--system-id <id>', 'system_id')
    .requiredOption('--password <password>', 'password')
    .addOption(new Option('--bind <mode>', 'bind mode').choices(['trx', 'tx+rx', 'tx', 'rx']).default('trx'))
    .option('--binds <n>', 'binds at the same time', number, 1)
    .option('--window <n>', 'unanswered messages a bind', number, 10)
    .option('--tps <n>', 'parts a second over all binds; 0 is no limit', number, 0)
    .option('--tls', 'TLS from the first byte')
    .option('--set <name=value...>', 'any other setting, see docs/carriers.md', [])
    .action(async ({ name, password, set, ...flags }: SmppFlags) => {
      const settings = { ...flags, tls: flags.tls ?? false, ...readSettings(set) };
      const key = await loadSecretKey(context.config());
      const { id } = await context.withDatabase((pool) =>
        createConnection(pool, key, { name, password, settings, sandbox: false }),
      );
      context.report(
        { id, name },
        () => `Connection ${name} (id ${id}) was added. Give it a route: route add --channel SMS --connection ${name}`,
      );
    });
}

function addUpdate(connection: Command, context: CommandContext): void {
  connection
    .command('update')
    .argument('<name>')
    .description('change the password or settings of a connection; a running program connects again')
    .option('--password <password>', 'the new password')
    .option('--set <name=value...>', 'a setting, see docs/carriers.md', [])
    .action(async (name: string, flags: { password?: string; set: string[] }) => {
      const key = await loadSecretKey(context.config());
      await context.withDatabase(async (pool) => {
        const known = await findConnection(pool, { name });
        if (!known) throw unknownConnection(name);
        const settings = { ...known.settings, ...readSettings(flags.set) };
        await updateConnection(pool, key, known.id, { settings, password: flags.password ?? passwordOf(known, key) });
      });
      context.report({ name }, () => `Connection ${name} was changed.`);
    });
}

/** `window=5` is a number, `tls=true` a boolean, all else a text. */
const readSettings = (pairs: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...rest] = pair.split('=');
      const value = rest.join('=');
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );

const unknownConnection = (name: string): AppError =>
  new AppError('not_found', { message: `There is no connection ${name}` });

const TEST_MS = 10_000;

async function testConnection(context: CommandContext, name: string): Promise<{ ok: boolean; detail: string }> {
  const connection = await context.withDatabase((pool) => findConnection(pool, { name }));
  if (!connection) throw unknownConnection(name);
  const password = passwordOf(connection, await loadSecretKey(context.config()));
  const carrier = createSmppCarrier({ ...parseSmppSettings(connection.settings), binds: 1 }, { password });
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, TEST_MS);
  const refuse = (): Promise<void> => Promise.reject(new Error('this is a test'));
  const changed = (): void => {
    const { up, fault } = carrier.state();
    if (up || fault !== null) resolve();
  };
  carrier.start({ receipt: refuse, inbound: refuse, changed, log: () => undefined });
  await settled;
  clearTimeout(timer);
  const { up, fault } = carrier.state();
  await carrier.stop(2000);
  return {
    ok: up,
    detail: up ? `${name} is bound.` : `${name} cannot be reached: ${fault ?? 'no answer within 10 s'}`,
  };
}
