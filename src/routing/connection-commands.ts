import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { operatorName } from '../accounts/audit.ts';
import { isRoutedBySender } from '../core/channels.ts';
import { addSecretOption, type CommandContext, type SecretFlag, type SecretReader, table } from '../core/cli.ts';
import { transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { connectionNamed, isFirstBesideSandbox, listConnectionStatus } from './connection-store.ts';
import {
  type AddedConnection,
  addConnection,
  callbackUrlOf,
  carrierContext,
  changeConnection,
  completeSetup,
  type NewConnection,
  removeConnection,
} from './connections.ts';
import { type SecretField, type SecretFields, type SettingField, type SetupStep } from './kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from './kinds.ts';
import { type ProbeResult, probeStored } from './supervise.ts';

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

/**
 * Creates the option of a setting: `--system-id <text>` for `systemId`; a list has the singular, given several times.
 */
export function settingOption({ name, type, description, required, ...field }: SettingField): Option {
  const flag = flagOf(type === 'list' ? name.replace(/s$/, '') : name);
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
  if (field.type === 'text') return addSecretOption(command, flagOf(field.name), help);
  command.addOption(new Option(`${flagOf(field.name)} <file>`, help).makeOptionMandatory(isRequired(field)));
}

/** True if a field of the secret has to be given. */
const isRequired = ({ generated, optional }: SecretField): boolean => !generated && optional !== true;

/** Returns the flag of a setting: `--system-id` for `systemId`. */
const flagOf = (name: string): SecretFlag => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * Converts a sentence to the style of help texts: without its full stop, and in lower case unless it begins with a
 * name.
 */
const helpOf = (description: string): string =>
  description.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/**
 * Reads `name=value` pairs: `window=5` is a number, `tls=true` a boolean, `phoneNumberIds=["1","2"]` a list,
 * `answer={"id":"/id"}` an object, `appId="5"` a text, and so is everything else.
 */
const readSettings = (pairs: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...rest] = pair.split('=');
      const value = rest.join('=');
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      if (/^[[{"]/.test(value)) return [name, readJson(value)];
      return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );

/**
 * Divides `name=value` pairs into settings and fields of the secret, which are texts and are named in `secretNames`.
 */
export function divideSettings(
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

/** Parses JSON; invalid JSON stays a text, which the validation of that setting then rejects. */
function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
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

/** Registers `connection subscribe` and `register`, which repeat the steps of `connection add whatsapp` at Meta. */
function registerSetupCommands(connection: Command, context: CommandContext): void {
  connection
    .command('subscribe')
    .argument('<name>')
    .description('WhatsApp: subscribe the app to the business account, so that Meta posts its events')
    .action((name: string) => setUp(context, { name, pin: null, shown: 'subscribe' }));

  const register = connection
    .command('register')
    .argument('<name>')
    .description('WhatsApp: register the numbers of the connection for the Cloud API')
    .action(async (name: string, flags: Readonly<Record<string, unknown>>) => {
      const pin = (await context.secrets.ofOption(flags, '--pin', { required: true })) ?? null;
      await setUp(context, { name, pin, shown: 'register' });
    });
  addSecretOption(register, '--pin', 'PIN of the two-step verification, 6 digits; a number without one gets it');
}

type Wanted = { readonly name: string; readonly pin: string | null; readonly shown: SetupStep['name'] };

async function setUp(context: CommandContext, { name, pin, shown }: Wanted): Promise<void> {
  const secretKey = await loadSecretKey(context.config());
  const steps = await context.withDatabase((pool) =>
    completeSetup({ pool, secretKey }, { name, pin, by: operatorName() }),
  );
  const step = steps.find((each) => each.name === shown);
  context.report({ name, steps }, () => step?.detail ?? '', step?.ok === true);
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
async function setUpAdded(
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
