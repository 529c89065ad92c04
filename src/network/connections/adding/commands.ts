import { type Command, Option } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { addSecretOption } from '../../../platform/secret-input.ts';
import { loadSecretKey } from '../../../platform/secret-key.ts';
import { addConnection, type AddedConnection, callbackUrlOf } from '../add.ts';
import type { SetupStep } from '../kinds/setup.ts';
import { completeSetup } from '../set-up.ts';
import { isFirstBesideSandbox } from '../sql.ts';
import { isRoutedBySender } from '../kinds/kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../kinds/kinds.ts';
import type { SecretField } from '../kinds/secret.ts';
import type { NewConnection } from '../save.ts';
import { addFieldOption, flagOf, isRequired, settingOption } from './options.ts';
import { divideSettings, readJsonFile, readPairs } from './read-settings.ts';

/** Registers `connection add` for each kind. Settings without a separate option are given with `--set`. */
export function registerAddCommands(add: Command, context: CommandContext): void {
  for (const kind of CONNECTION_KINDS) registerKind(add, context, kind);
}

const SET_HELP =
  'any other setting or secret, see docs/carriers.md; a secret is read from a file with name=@PATH, from standard input or a prompt with name=-';

type Flags = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly set: string[];
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
  for (const { option } of settingOptions) command.addOption(option);
  for (const field of secret.fields) addFieldOption(command, field);
  if (setup !== null)
    addSecretOption(command, '--register-pin', 'also register the numbers, with this PIN of 6 digits');
  command.option('--set <name=value...>', SET_HELP, []);
  command.action(async (flags: Flags) => {
    const named = settingOptions.map(({ field, option }) => [field.name, flags[option.attributeName()]] as const);
    const more = divideSettings(flags.set, new Set(secret.fields.map((field) => field.name)));
    const input = {
      name: flags.name,
      kind,
      settings: { ...given(named), ...more.settings },
      secret: await readSecrets(context, { fields: secret.fields, flags, pairs: more.secret }),
    };
    const pin = setup === null ? undefined : await context.secrets.ofOption(flags, '--register-pin');
    const added = await create(context, input);
    const steps = setup === null ? [] : await setUp(context, { name: flags.name, pin: pin ?? null });
    report(context, input, { ...added, steps });
  });
}

type Entry = readonly [name: string, value: unknown];

const given = (entries: readonly Entry[]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));

type Given = {
  readonly fields: readonly SecretField[];
  readonly flags: Flags;
  /** Pairs from `--set`; they precede options. */
  readonly pairs: Readonly<Record<string, string>>;
};

/** Reads the fields one after another, because each may have a prompt. */
async function readSecrets(context: CommandContext, { fields, flags, pairs }: Given): Promise<Record<string, unknown>> {
  const entries: Entry[] = [];
  for (const field of fields.filter(({ name }) => !(name in pairs)))
    entries.push([field.name, await readField(context, field, flags)]);
  return { ...given(entries), ...(await readPairs(context.secrets, pairs)) };
}

function readField({ secrets }: CommandContext, field: SecretField, flags: Flags): Promise<unknown> {
  const flag = flagOf(field.name);
  if (field.type === 'text') return secrets.ofOption(flags, flag, { required: isRequired(field) });
  const path = flags[new Option(flag).attributeName()];
  return typeof path === 'string' ? readJsonFile(flag, path) : Promise.resolve(undefined);
}

type Input = Omit<NewConnection, 'sandbox'>;

async function create(context: CommandContext, input: Input): Promise<Omit<Added, 'steps'>> {
  const key = await loadSecretKey(context.config());
  const added = { ...input, by: operatorName() };
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const made = await addConnection(tx, key, added);
      return { ...made, besideSandbox: await isFirstBesideSandbox(tx) };
    }),
  );
}

/** Sets up the connection at its carrier. The connection is stored already, so that a failed set-up can be repeated. */
async function setUp(
  context: CommandContext,
  { name, pin }: { readonly name: string; readonly pin: string | null },
): Promise<SetupStep[]> {
  const secretKey = await loadSecretKey(context.config());
  const wanted = { name, pin, by: operatorName() };
  return context.withDatabase((pool) => completeSetup({ pool, secretKey }, wanted));
}

type Added = AddedConnection & {
  readonly steps: readonly SetupStep[];
  /** True if it is the first real carrier of an installation that still has its sandbox. */
  readonly besideSandbox: boolean;
};

const SANDBOX_REMAINS = [
  'The sandbox is still active: it takes messages that no other route takes, and delivers them to no one.',
  'Retire it: sandbox retire. Otherwise the next start of the command serve leaves it out.',
];

/**
 * Reports the added connection, its set-up at the carrier, the data to give to the carrier, and how the connection gets
 * its messages.
 */
function report(context: CommandContext, { name, kind, settings }: Input, added: Added): void {
  const { id, tokens, steps, besideSandbox } = added;
  const { channel, senderIdsOf } = kindOf({ kind });
  const callbackUrl = callbackUrlOf(context.config().publicUrl, { kind, name });
  const result = {
    id,
    name,
    ...(callbackUrl !== null && { callbackUrl }),
    ...tokens,
    ...(steps.length > 0 && { steps }),
    ...(besideSandbox && { besideSandbox }),
  };
  if (callbackUrl !== null) context.warnIfLocal('The callback URL');
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
      ...(besideSandbox ? SANDBOX_REMAINS : []),
    ].join('\n'),
  );
}

/** `verifyToken` → `verify token` */
const titleOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
