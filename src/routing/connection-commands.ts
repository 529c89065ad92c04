import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { operatorName } from '../accounts/audit.ts';
import { isRoutedBySender } from '../core/channels.ts';
import { addSecretOption, type CommandContext, type SecretReader } from '../core/cli.ts';
import { flagNamed, helpOf, readSettings, titleOf } from '../core/cli-operations.ts';
import { transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { connectionNamed, isFirstBesideSandbox } from './connection-store.ts';
import {
  type AddedConnection,
  addConnection,
  callbackUrlOf,
  carrierContext,
  changeConnection,
  completeSetup,
  type NewConnection,
} from './connections.ts';
import { type SecretField, type SecretFields, type SettingField, type SetupStep } from './kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from './kinds.ts';
import { type ProbeResult, probeStored } from './supervise.ts';

/** Registers `connection add` and `update`, whose options are the settings of each kind, and `test`. */
export function registerConnectionCommands(program: Command, context: CommandContext): void {
  const connection = program.command('connection').description('connections to carriers');
  registerAddCommands(
    connection.command('add').description('add a connection; a running program connects immediately'),
    context,
  );
  addUpdate(connection, context);

  connection
    .command('test')
    .argument('<name>')
    .description('connect once from this machine, and show the response of the carrier')
    .action(async (name: string) => {
      const result = await testConnection(context, name);
      context.report(result, ({ detail }) => detail, result.ok);
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

const SECRET_NAMES = new Set(
  CONNECTION_KINDS.flatMap((kind) => kindOf({ kind }).secret.fields.map(({ name }) => name)),
);

type UpdateFlags = Readonly<Record<string, unknown>> & { readonly secrets?: string; readonly set: string[] };

async function readSecret(context: CommandContext, flags: UpdateFlags): Promise<SecretFields> {
  if (flags.secrets !== undefined) return readJsonFile('--secrets', flags.secrets);
  const password = await context.secrets.ofOption(flags, '--password');
  return password === undefined ? {} : { password };
}

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

/**
 * Creates the option of a setting: `--system-id <text>` for `systemId`; a list has the singular, given several times.
 */
export function settingOption({ name, type, description, required, ...field }: SettingField): Option {
  const flag = flagNamed(type === 'list' ? name.replace(/s$/, '') : name);
  const option = new Option(`${flag}${VALUES[type]}`, helpOf(description)).makeOptionMandatory(required);
  if (field.default !== null) option.default(field.default);
  if (type === 'number') option.argParser(Number);
  if (type === 'choice') option.choices(field.options.map(String));
  return option;
}

/** Text after the flag in the help; a boolean is true when the flag is given. */
const VALUES: Readonly<Record<SettingField['type'], string>> = {
  text: ' <text>',
  number: ' <n>',
  boolean: '',
  choice: ' <choice>',
  list: ' <value...>',
  object: ' <json>',
};

/** Adds the options of a field of the secret; a key file is given by its path alone. */
function addFieldOption(command: Command, field: SecretField): void {
  const help = `${helpOf(field.description)}${field.generated ? '; generated by default' : ''}`;
  if (field.type === 'text') return addSecretOption(command, flagNamed(field.name), help);
  command.addOption(new Option(`${flagNamed(field.name)} <file>`, help).makeOptionMandatory(isRequired(field)));
}

/** True if a field of the secret has to be given. */
const isRequired = ({ generated, optional }: SecretField): boolean => !generated && optional !== true;

/**
 * Divides `name=value` pairs into settings and fields of the secret, which are texts and are named in `secretNames`.
 */
function divideSettings(
  pairs: readonly string[],
  secretNames: ReadonlySet<string>,
): { settings: Record<string, unknown>; secret: Record<string, string> } {
  const isSecret = (pair: string): boolean => secretNames.has(pair.split('=', 1)[0] ?? '');
  const secret = pairs.filter(isSecret).map((pair): [string, string] => {
    const [name = '', ...rest] = pair.split('=');
    return [name, rest.join('=')];
  });
  return { settings: readSettings(pairs.filter((pair) => !isSecret(pair))), secret: Object.fromEntries(secret) };
}

/** Reads the secrets of `name=value` pairs: `name=@PATH` from a file, `name=-` from standard input or a prompt. */
async function readPairs(
  secrets: SecretReader,
  pairs: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(pairs)) read[name] = await secrets.ofPair(name, value);
  return read;
}

/** Reads a file with one JSON object. Errors: 400 naming the option. */
async function readJsonFile(option: string, path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => refuse(option, cause.message));
  const json: unknown = await new Response(text).json().catch(() => refuse(option, 'the file is not JSON'));
  return typeof json === 'object' && json !== null
    ? { ...json }
    : refuse(option, 'the file must contain one JSON object');
}

function refuse(field: string, message: string): never {
  throw invalidFields([{ field, message }]);
}

/** Registers `connection add` for each kind. Settings without a separate option are given with `--set`. */
function registerAddCommands(add: Command, context: CommandContext): void {
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
    const steps = setup === null ? [] : await setUpAdded(context, { name: flags.name, pin: pin ?? null });
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
  const flag = flagNamed(field.name);
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
async function setUpAdded(
  context: CommandContext,
  { name, pin }: { readonly name: string; readonly pin: string | null },
): Promise<SetupStep[]> {
  const config = context.config();
  const secretKey = await loadSecretKey(config);
  const wanted = { name, pin, by: operatorName() };
  return context.withDatabase((pool) => completeSetup({ pool, secretKey, config }, wanted));
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
        (sender) =>
          `Give it to an account: sender assign --identity ${sender} --connection ${name} --account <account>`,
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
