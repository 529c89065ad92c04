import type { Command, Option } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { loadSecretKey } from '../../../platform/secret-key.ts';
import { addConnection, type AddedConnection, callbackUrlOf } from '../add.ts';
import type { SetupStep } from '../kinds/setup.ts';
import { completeSetup } from '../set-up.ts';
import { isRoutedBySender } from '../kinds/kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../kinds/kinds.ts';
import type { SecretField } from '../kinds/secret.ts';
import type { NewConnection } from '../save.ts';
import { secretOption, settingOption } from './options.ts';
import { divideSettings, readJsonFile } from './read-settings.ts';

/** Registers `connection add` for each kind. Settings that have no option of their own are given with `--set`. */
export function registerAddCommands(add: Command, context: CommandContext): void {
  for (const kind of CONNECTION_KINDS) registerKind(add, context, kind);
}

type Flags = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly set: string[];
  readonly registerPin?: string | undefined;
};

function registerKind(add: Command, context: CommandContext, kind: ConnectionKind): void {
  const { leadsTo, callbacks, settings, secret, setup } = kindOf({ kind });
  const command = add
    .command(kind)
    .description(`add ${leadsTo}`)
    .requiredOption('--name <name>', `name of the connection${callbacks ? '; part of its callback URL' : ''}`);
  const settingOptions = settings
    .filter(({ group }) => group !== 'more')
    .map((field) => ({ field, option: settingOption(field) }));
  const secretOptions = secret.fields.map((field) => ({ field, option: secretOption(field) }));
  for (const { option } of [...settingOptions, ...secretOptions]) command.addOption(option);
  if (setup !== null) command.option('--register-pin <pin>', 'also register the numbers, with this PIN of 6 digits');
  command.option('--set <name=value...>', 'any other setting or secret, see docs/carriers.md', []);
  command.action(async (flags: Flags) => {
    const named = settingOptions.map(({ field, option }) => [field.name, flags[option.attributeName()]] as const);
    const more = divideSettings(flags.set, new Set(secret.fields.map((field) => field.name)));
    const input = {
      name: flags.name,
      kind,
      settings: { ...given(named), ...more.settings },
      secret: { ...given(await Promise.all(secretOptions.map((one) => readSecret(one, flags)))), ...more.secret },
    };
    const added = await create(context, input);
    const steps = setup === null ? [] : await setUp(context, flags);
    report(context, input, { ...added, steps });
  });
}

type Entry = readonly [name: string, value: unknown];

const given = (entries: readonly Entry[]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));

async function readSecret(
  { field, option }: { readonly field: SecretField; readonly option: Option },
  flags: Flags,
): Promise<Entry> {
  const value = flags[option.attributeName()];
  const isFile = field.type === 'json' && typeof value === 'string';
  return [field.name, isFile ? await readJsonFile(option.long ?? field.name, value) : value];
}

type Input = Omit<NewConnection, 'sandbox'>;

async function create(context: CommandContext, input: Input): Promise<AddedConnection> {
  const key = await loadSecretKey(context.config());
  const added = { ...input, by: operatorName() };
  return context.withDatabase((pool) => transaction(pool, (tx) => addConnection(tx, key, added)));
}

/** Sets up what the connection needs at its carrier. The connection is stored already, so that a failure can be repeated. */
async function setUp(context: CommandContext, { name, registerPin }: Flags): Promise<SetupStep[]> {
  const secretKey = await loadSecretKey(context.config());
  const wanted = { name, pin: registerPin ?? null, by: operatorName() };
  return context.withDatabase((pool) => completeSetup({ pool, secretKey }, wanted));
}

type Added = AddedConnection & { readonly steps: readonly SetupStep[] };

/**
 * Reports what was added, what was set up at the carrier, what the carrier has to be given, and how the connection gets its
 * messages.
 */
function report(context: CommandContext, { name, kind, settings }: Input, { id, tokens, steps }: Added): void {
  const { channel, senderIdsOf } = kindOf({ kind });
  const callbackUrl = callbackUrlOf(context.config().publicUrl, { kind, name });
  const result = {
    id,
    name,
    ...(callbackUrl !== null && { callbackUrl }),
    ...tokens,
    ...(steps.length > 0 && { steps }),
  };
  const senderIds = isRoutedBySender(channel) ? senderIdsOf(settings) : [];
  const next = isRoutedBySender(channel)
    ? (senderIds.length > 0 ? senderIds : ['<sender id>']).map(
        (sender) => `Give it to an account: sender assign --id ${sender} --connection ${name} --account <account>`,
      )
    : [`Give it a route: route add --channel ${channel} --connection ${name}`];
  context.report(result, () =>
    [
      `Connection ${name} (id ${id}) was added.`,
      ...steps.map(({ detail }) => detail),
      ...(callbackUrl === null
        ? []
        : ['Enter these in the settings of the carrier:', `  callback URL: ${callbackUrl}`]),
      ...Object.entries(tokens).map(([token, value]) => `  ${titleOf(token)}: ${value}`),
      ...next,
    ].join('\n'),
  );
}

/** `verifyToken` → `verify token` */
const titleOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
