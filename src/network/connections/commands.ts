import type { Command } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { addSecretOption } from '../../platform/secret-input.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';
import { registerAddCommands } from './adding/commands.ts';
import { divideSettings, readJsonFile, readPairs } from './adding/read-settings.ts';
import { changeConnection } from './change.ts';
import { carrierContext } from './context.ts';
import { connectionNamed } from './find.ts';
import { CONNECTION_KINDS, kindOf } from './kinds/kinds.ts';
import type { SecretFields } from './kinds/secret.ts';
import { removeConnection } from './remove.ts';
import { listConnectionStatus } from './sql.ts';
import { type ProbeResult, probeStored } from './probe.ts';
import { registerSetupCommands } from './adding/set-up-commands.ts';

/** Registers `connection add`, `update`, `list`, `test`, `pause`, `resume` and `remove`. */
export function registerConnectionCommands(program: Command, context: CommandContext): void {
  const connection = program.command('connection').description('connections to carriers');
  registerAddCommands(
    connection.command('add').description('add a connection; a running program connects immediately'),
    context,
  );
  addUpdate(connection, context);
  registerSetupCommands(connection, context);

  connection
    .command('list')
    .description('list all connections and their state')
    .action(async () =>
      context.report(await context.withDatabase(listConnectionStatus), (rows) =>
        table(
          ['name', 'kind', 'status', 'up', 'links', 'fault', 'last error'],
          rows.map((c) => [
            c.name,
            c.kind,
            c.status,
            c.up ? 'yes' : 'no',
            `${c.bindsUp}/${c.bindsWanted}`,
            c.fault ?? '',
            lastErrorOf(c),
          ]),
        ),
      ),
    );

  connection
    .command('test')
    .argument('<name>')
    .description('connect once from this machine, and show the response of the carrier')
    .action(async (name: string) => {
      const result = await testConnection(context, name);
      context.report(result, ({ detail }) => detail, result.ok);
    });

  connection
    .command('remove')
    .argument('<name>')
    .description('remove a connection that has no routes and no waiting messages')
    .action(async (name: string) => {
      await context.withDatabase((pool) =>
        transaction(pool, (tx) => removeConnection(tx, { name, by: operatorName() })),
      );
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
        `set a connection to ${status}; its messages ${status === 'paused' ? 'move to the next connection of their route, or wait' : 'are sent again'}`,
      )
      .action(async (name: string) => {
        await change(context, { name, status });
        context.report({ name, status }, () => `Connection ${name} is ${status}.`);
      });
}

function addUpdate(connection: Command, context: CommandContext): void {
  const command = connection.command('update');
  addSecretOption(command, '--password', 'the new password, where the secret has one');
  command
    .argument('<name>')
    .description('change the secret or settings of a connection; a running program reconnects')
    .option('--secrets <file>', 'a JSON file with the fields of the secret that change')
    .option(
      '--set <name=value...>',
      'a setting or a field of the secret, which is read from a file with name=@PATH, from standard input or a prompt with name=-; see docs/carriers.md',
      [],
    )
    .action(async (name: string, flags: UpdateFlags) => {
      const { settings, secret } = divideSettings(flags.set, SECRET_NAMES);
      const fields = { ...(await readSecret(context, flags)), ...(await readPairs(context.secrets, secret)) };
      const isGiven = Object.keys(fields).length > 0 || flags.secrets !== undefined;
      await change(context, { name, settings, secret: isGiven ? fields : undefined });
      context.report({ name }, () => `Connection ${name} was changed.`);
    });
}

/** The names of the fields of all secrets, which no setting has. */
const SECRET_NAMES = new Set(
  CONNECTION_KINDS.flatMap((kind) => kindOf({ kind }).secret.fields.map(({ name }) => name)),
);

type UpdateFlags = Readonly<Record<string, unknown>> & { readonly secrets?: string; readonly set: string[] };

async function readSecret(context: CommandContext, flags: UpdateFlags): Promise<SecretFields> {
  if (flags.secrets !== undefined) return readJsonFile('--secrets', flags.secrets);
  const password = await context.secrets.ofOption(flags, '--password');
  return password === undefined ? {} : { password };
}

const lastErrorOf = ({ lastError, lastErrorAt }: { lastError: string | null; lastErrorAt: Date | null }): string =>
  lastError === null ? '' : `${lastErrorAt?.toISOString() ?? ''} ${lastError}`;

async function change(
  context: CommandContext,
  input: Omit<Parameters<typeof changeConnection>[2], 'by'>,
): Promise<void> {
  const key = await loadSecretKey(context.config());
  const changed = { ...input, by: operatorName() };
  await context.withDatabase((pool) => transaction(pool, (tx) => changeConnection(tx, key, changed)));
}

/** Lists missing set-up steps at a carrier that accepts our sign-in. */
const setupFaults = ({ ok, steps }: ProbeResult): string[] =>
  ok ? [] : steps.flatMap((step) => (step.ok === false ? [step.detail] : []));

async function testConnection(context: CommandContext, name: string): Promise<ProbeResult> {
  const connection = await context.withDatabase((pool) => connectionNamed(pool, name));
  const config = context.config();
  const tried = await probeStored(connection, await loadSecretKey(config), carrierContext(config, connection));
  const isUp = tried.steps.every((step) => step.name !== 'bind' || step.ok === true);
  const detail = isUp
    ? [`${name} is up.`, ...setupFaults(tried)].join(' ')
    : `${name} cannot be reached: ${tried.detail}`;
  const shown = tried.steps.find((step) => step.name === 'exchange')?.detail;
  return { ...tried, detail: shown === undefined ? detail : `${detail}\n\n${shown}` };
}
