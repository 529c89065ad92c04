import type { Command } from 'commander';
import { type CommandContext, table } from '../cli.ts';
import { AppError } from '../errors.ts';
import { notifyRoutes } from '../routing/sql.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import { loadSecretKey } from '../secret-key.ts';
import { registerAddCommands } from './adding/commands.ts';
import { readJsonFile, readSettings } from './adding/read-settings.ts';
import { kindOf } from './kinds/kinds.ts';
import { removeConnection } from './remove.ts';
import { secretOf, updateConnection } from './save.ts';
import { type Connection, findConnection, listConnectionStatus, moveConnectionStatus } from './sql.ts';

/** `connection add`, `update`, `list`, `test`, `pause`, `resume` and `remove`. */
export function registerConnectionCommands(program: Command, context: CommandContext): void {
  const connection = program.command('connection').description('the links to carriers');
  registerAddCommands(
    connection.command('add').description('add a connection; a running program connects at once'),
    context,
  );
  addUpdate(connection, context);

  connection
    .command('list')
    .description('all connections, and whether they are up')
    .action(async () =>
      context.report(await context.withDatabase(listConnectionStatus), (rows) =>
        table(
          ['name', 'kind', 'status', 'up', 'links', 'fault'],
          rows.map((c) => [
            c.name,
            c.kind,
            c.status,
            c.up ? 'yes' : 'no',
            `${c.bindsUp}/${c.bindsWanted}`,
            c.fault ?? '',
          ]),
        ),
      ),
    );

  connection
    .command('test')
    .argument('<name>')
    .description('connect once from here, and say what the carrier answered')
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

function addUpdate(connection: Command, context: CommandContext): void {
  connection
    .command('update')
    .argument('<name>')
    .description('change the secret or settings of a connection; a running program connects again')
    .option('--password <password>', 'the new password (SMPP)')
    .option('--secrets <file>', 'a JSON file with the new secrets (WhatsApp, RCS)')
    .option('--set <name=value...>', 'a setting, see docs/carriers.md', [])
    .action(async (name: string, flags: UpdateFlags) => {
      const key = await loadSecretKey(context.config());
      await context.withDatabase(async (pool) => {
        const known = await findConnection(pool, { name });
        if (!known) throw unknownConnection(name);
        const settings = { ...known.settings, ...readSettings(flags.set) };
        await updateConnection(pool, key, known, { settings, secret: await readSecret(known, key, flags) });
      });
      context.report({ name }, () => `Connection ${name} was changed.`);
    });
}

type UpdateFlags = { password?: string; secrets?: string; set: string[] };

/** What stands, with the new parts put over it. */
async function readSecret(known: Connection, key: SecretKey, { password, secrets }: UpdateFlags): Promise<unknown> {
  if (known.kind === 'smpp') return password ?? secretOf(known, key);
  const standing: unknown = JSON.parse(secretOf(known, key));
  return { ...(standing as object), ...(secrets === undefined ? {} : await readJsonFile('--secrets', secrets)) };
}

const unknownConnection = (name: string): AppError =>
  new AppError('not_found', { message: `There is no connection ${name}` });

const TEST_MS = 10_000;

async function testConnection(context: CommandContext, name: string): Promise<{ ok: boolean; detail: string }> {
  const connection = await context.withDatabase((pool) => findConnection(pool, { name }));
  if (!connection) throw unknownConnection(name);
  const kind = kindOf(connection);
  const secret = secretOf(connection, await loadSecretKey(context.config()));
  const carrier = kind.createCarrier(kind.forTest(connection.settings), secret);
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
    detail: up ? `${name} is up.` : `${name} cannot be reached: ${fault ?? 'no answer within 10 s'}`,
  };
}
