import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { addSecretOption, type CommandContext, type SecretFlag, table } from './cli.ts';
import { invalidFields } from './errors.ts';
import { isRecord } from './schema.ts';

/**
 * Command of an operation as it is typed: its words, then those fields of the body or the query that are arguments, as
 * in `credit add <amount>`. Path parameters come before them. `body` has the fields that the command sets itself.
 */
export type Named =
  | string
  | {
      readonly as: string;
      readonly body?: Readonly<Record<string, unknown>>;
      /** The columns of a list; by default all. JSON always has all. */
      readonly columns?: readonly string[];
      /** False makes the command fail although the operation did not. */
      readonly isFine?: (answer: never) => boolean;
    };

/** A JSON Schema, as far as options depend on it. */
export type Schema = { readonly [keyword: string]: unknown };

/** A route as the command line sees it. */
export type Operation = {
  readonly method: string;
  /** The path, with `:name` for each parameter. */
  readonly url: string;
  readonly summary: string;
  readonly description: string;
  readonly params: Schema | undefined;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  /** True if it belongs to one account, which the command names. */
  readonly ofAccount: boolean;
};

/** A request of an operation, for `account` if it is given. */
export type OperationRequest = {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly accountId: number | null;
};

/** Finds the id of an account by its name or id. Errors: 404, 409. */
export type FindAccountId = (reference: string) => Promise<number>;

/** Performs the request that `requestOf` makes, and returns its response; null if it is empty. */
export type Perform = (requestOf: (find: FindAccountId) => Promise<OperationRequest>) => Promise<unknown>;

/**
 * Adds the command of an operation: arguments and options from its schemas, the response as a table or as JSON. It
 * fails if the response has `ok: false`.
 */
export function addOperation(
  program: Command,
  { secrets, report }: Pick<CommandContext, 'secrets' | 'report'>,
  { operation, named, perform }: { operation: Operation; named: Named; perform: Perform },
): void {
  const { as, body: fixed, columns, isFine = isOk } = typeof named === 'string' ? { as: named } : named;
  const command = addCommand(
    program,
    as.split(' ').filter((word) => !word.startsWith('<')),
  );
  const fields = fieldsOf(operation, fixed !== undefined);
  const places = as.match(/(?<=<)[^>]+/g) ?? [];
  const args = [
    ...fields.filter(({ place }) => place === 'params'),
    ...places.map(
      (flag) => fields.find((field) => field.place !== 'params' && flagOf(field) === `--${flag}`) ?? missing(as, flag),
    ),
  ];
  command.description(helpOf(operation.summary)).summary(helpOf(operation.summary));
  if (operation.description !== '') command.addHelpText('after', `\n${operation.description}`);
  for (const field of args)
    command.argument(`<${flagOf(field).slice(2)}${isList(field) ? '...' : ''}>`, helpOfField(field));
  const options = fields.filter((field) => !args.includes(field));
  for (const field of options) addOption(command, field, operation.method);
  command.action(async (...given: unknown[]) => {
    const flags = command.opts();
    const values = new Map<Field, unknown>();
    for (const [at, field] of args.entries()) values.set(field, readArgument(field, given[at]));
    for (const field of options) values.set(field, await readOption(secrets, field, flags));
    const answer = await perform((find) => requestOf(operation, { values, fixed, find }));
    // The function stands next to the schema of the response.
    report(answer, (shown) => describeAnswer(shown, columns), isFine(answer as never));
  });
}

const isOk = (answer: unknown): boolean => !isRecord(answer) || answer['ok'] !== false;

/** Adds a command below its groups, which are made when they are missing. */
function addCommand(program: Command, words: readonly string[]): Command {
  return words.reduce((group, word, at) => {
    const found = at < words.length - 1 ? group.commands.find((each) => each.name() === word) : undefined;
    return found ?? group.command(word);
  }, program);
}

function missing(as: string, flag: string): never {
  throw new Error(`the command "${as}" has an argument ${flag}, which is not a field of its operation`);
}

type Place = 'params' | 'query' | 'body' | 'account';

/** A value that the command line has to give: a parameter, or a field at some depth. */
type Field = {
  readonly place: Place;
  readonly path: readonly string[];
  readonly schema: Schema;
  readonly required: boolean;
  /** True if it is the id of an account, which may be given by its name. */
  readonly isAccount: boolean;
};

const ACCOUNT: Field = {
  place: 'account',
  path: ['account'],
  schema: { type: 'string', description: 'Name or id of the account.' },
  required: true,
  isAccount: true,
};

function fieldsOf({ url, params, query, body, ofAccount }: Operation, isFixed: boolean): Field[] {
  const accountParam = /\/accounts\/:(\w+)/.exec(url)?.[1];
  return [
    ...propertiesOf('params', params).map((field) => ({ ...field, isAccount: field.path[0] === accountParam })),
    ...(ofAccount ? [ACCOUNT] : []),
    ...propertiesOf('query', query),
    ...(isFixed || body === undefined ? [] : bodyFields(withoutNull(body))),
  ];
}

/** A body that is not one object is given as JSON. */
const bodyFields = (schema: Schema): Field[] =>
  isRecord(schema['properties'])
    ? propertiesOf('body', schema)
    : [{ place: 'body', path: [], schema, required: true, isAccount: false }];

function propertiesOf(place: Place, schema: Schema | undefined, above: readonly string[] = []): Field[] {
  const { properties, required } = schema ?? {};
  if (!isRecord(properties)) return [];
  return Object.entries(properties).flatMap(([name, property]): Field[] => {
    if (!isRecord(property)) return [];
    const [path, isRequired] = [[...above, name], Array.isArray(required) && required.includes(name)];
    const inner = withoutNull(property);
    if (isRecord(inner['properties']) && place === 'body')
      return propertiesOf(place, inner, path).map((field) => ({
        ...field,
        required: field.required && isRequired && above.length === 0,
      }));
    return [{ place, path, schema: property, required: isRequired, isAccount: name === 'accountId' }];
  });
}

const alternativesOf = ({ anyOf }: Schema): Schema[] => (Array.isArray(anyOf) ? anyOf.filter(isRecord) : []);

const isNullable = (schema: Schema): boolean => alternativesOf(schema).some(({ type }) => type === 'null');

/** Returns the schema of the values that are not null, with the description of the whole. */
function withoutNull(schema: Schema): Schema {
  const [only, ...others] = alternativesOf(schema).filter(({ type }) => type !== 'null');
  return only !== undefined && others.length === 0 ? { description: schema['description'], ...only } : schema;
}

/** `--time-zone` for `timeZone`, `--hours.time-zone` for the one of `hours`, and `--account` for `accountId`. */
const flagOf = ({ path, place, isAccount }: Field): SecretFlag =>
  isAccount ? '--account' : `--${(path.length === 0 ? [place] : path).map(kebab).join('.')}`;

/** `--system-id` for `systemId`. */
export const flagNamed = (name: string): SecretFlag => `--${kebab(name)}`;

/** `system-id` for `systemId`. */
export const kebab = (name: string): string =>
  name
    .replace(/(?<=[a-z0-9])[A-Z]|[A-Z](?=[a-z])/g, (letter, at) => `${at === 0 ? '' : '-'}${letter.toLowerCase()}`)
    .toLowerCase();

/**
 * Converts a sentence to the style of help texts: without its full stop, and in lower case unless it begins with a
 * name.
 */
export const helpOf = (description: string): string =>
  description.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

const helpOfField = ({ schema, isAccount, place }: Field): string => {
  const { description = '' } = withoutNull(schema);
  const help = helpOf(String(description));
  return isAccount && place !== 'account' ? [help, 'name or id'].filter(Boolean).join('; ') : help;
};

const isSecret = ({ schema }: Field): boolean => schema['writeOnly'] === true;
const isList = ({ schema }: Field): boolean => withoutNull(schema)['type'] === 'array' && itemsOf(schema) !== 'json';
const choicesOf = ({ enum: values }: Schema): string[] | undefined =>
  Array.isArray(values) ? values.map(String) : undefined;

type Form = 'text' | 'number' | 'boolean' | 'pairs' | 'json';

function formOf(schema: Schema): Form {
  const { type, patternProperties } = schema;
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  return isRecord(patternProperties) ? 'pairs' : 'json';
}

const itemsOf = (schema: Schema): Form => {
  const { items } = withoutNull(schema);
  return isRecord(items) ? formOf(items) : 'json';
};

const VALUES: Readonly<Record<Form, string>> = {
  text: ' <text>',
  number: ' <n>',
  boolean: '',
  pairs: ' <name=value...>',
  json: ' <json>',
};

function addOption(command: Command, field: Field, method: string): void {
  const flag = flagOf(field);
  const schema = withoutNull(field.schema);
  if (isSecret(field)) return addSecretOption(command, flag, helpOfField(field));
  const form = formOf(schema);
  const value = isList(field) ? `${VALUES[itemsOf(schema)].replace('>', '...>')}` : VALUES[form];
  const option = new Option(`${flag}${field.isAccount ? ' <account>' : value}`, helpOfField(field));
  const choices = choicesOf(schema);
  const only = field.required ? defaultOf(schema, choices) : undefined;
  if (choices) option.choices(isNullable(field.schema) ? [...choices, 'null'] : choices);
  if (only !== undefined) option.default(only);
  else if (field.path[0] === 'limit' && field.place === 'query') option.default(schema['maximum']);
  else if (field.required && schema['default'] === undefined) option.makeOptionMandatory();
  command.addOption(option);
  // A change has to be able to say no; elsewhere false is what an omitted flag means.
  if (form === 'boolean' && (field.required || method !== 'POST')) command.option(flag.replace('--', '--no-'));
}

/**
 * Returns the value of a required field that may be omitted on the command line: the only choice, and the empty prefix,
 * which means all numbers.
 */
function defaultOf({ pattern }: Schema, choices: readonly string[] | undefined): string | undefined {
  if (choices?.length === 1) return choices[0];
  return typeof pattern === 'string' && new RegExp(pattern).test('') ? '' : undefined;
}

/** Converts a typed value; what is no number stays a text, so that the check of the operation names its field. */
function convert(field: Field, text: string, schema = withoutNull(field.schema)): unknown {
  if (text === 'null' && isNullable(field.schema)) return null;
  const form = formOf(schema);
  if (form === 'number' && !field.isAccount)
    return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
  return form === 'json' ? readJson(text) : text;
}

const MAX_LINE = 100_000;

function readArgument(field: Field, given: unknown): unknown {
  const schema = withoutNull(field.schema);
  if (given === undefined || typeof given === 'boolean' || typeof given === 'number') return given;
  if (Array.isArray(given)) {
    const { items } = schema;
    if (formOf(schema) === 'pairs') return readSettings(given.map(String));
    const item = isRecord(items) ? items : {};
    const isShort = choicesOf(item) !== undefined || formOf(item) === 'number';
    return given
      .flatMap((each) => (isShort ? String(each).split(/,\s*/) : String(each)))
      .map((text) => convert(field, text, item));
  }
  const text = textOf(given);
  const mayBeFile = formOf(schema) === 'json' || Number(schema['maxLength']) > MAX_LINE;
  return mayBeFile && text.startsWith('@')
    ? readText(text.slice(1)).then((content) => convert(field, content))
    : convert(field, text);
}

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: Error) => {
    throw invalidFields([{ field: path, message: cause.message }]);
  });

async function readOption(
  secrets: CommandContext['secrets'],
  field: Field,
  flags: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  if (isSecret(field)) return secrets.ofOption(flags, flagOf(field), { required: field.required });
  return readArgument(field, flags[new Option(flagOf(field)).attributeName()]);
}

type Given = {
  readonly values: ReadonlyMap<Field, unknown>;
  readonly fixed: Readonly<Record<string, unknown>> | undefined;
  readonly find: FindAccountId;
};

async function requestOf(
  { method, url, body: schema }: Operation,
  { values, fixed, find }: Given,
): Promise<OperationRequest> {
  const query = new URLSearchParams();
  let [path, body, accountId]: [string, unknown, number | null] = [url, fixed ?? (schema && {}), null];
  for (const [field, given] of values) {
    const value = field.isAccount && typeof given === 'string' ? await find(given) : await given;
    if (value === undefined) continue;
    const [name = ''] = field.path;
    if (field.place === 'account') accountId = Number(value);
    else if (field.place === 'params') path = path.replace(`:${name}`, encodeURIComponent(textOf(value)));
    else if (field.place === 'query') for (const each of [value].flat()) query.append(name, textOf(each));
    else body = field.path.length === 0 ? value : set(body, field.path, value);
  }
  return { method, url: query.size === 0 ? path : `${path}?${query}`, body, accountId };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function set(target: unknown, [name = '', ...rest]: readonly string[], value: unknown): Record<string, unknown> {
  const object = isRecord(target) ? target : {};
  return { ...object, [name]: rest.length === 0 ? value : set(object[name], rest, value) };
}

/**
 * Reads `name=value` pairs: `window=5` is a number, `tls=true` a boolean, `phoneNumberIds=["1","2"]` a list,
 * `answer={"id":"/id"}` an object, `appId="5"` a text, and so is everything else.
 */
export const readSettings = (pairs: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...rest] = pair.split('=');
      const value = rest.join('=');
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      if (/^[[{"]/.test(value)) return [name, readJson(value)];
      return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );

/** Parses JSON; invalid JSON stays a text, which the validation of that field then rejects. */
function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Writes a response for people: a list as a table, everything else as names and values. */
export function describeAnswer(answer: unknown, columns?: readonly string[]): string {
  if (!isRecord(answer)) return answer === null ? 'Done.' : textOf(answer).split('\n').map(printable).join('\n');
  if (Array.isArray(answer)) return describeRows(answer);
  const { data, page: _page, limit: _limit, total, ...rest } = answer;
  if (!Array.isArray(data)) return describeFields(answer);
  const more =
    typeof total === 'number' && total > data.length ? `${data.length} of ${total}: see --page and --limit` : '';
  return [describeFields(rest), describeRows(data, columns), more].filter(Boolean).join('\n\n');
}

function describeFields(object: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(object);
  const isTable = (value: unknown): value is unknown[] => Array.isArray(value) && value.some(isRecord);
  const lines = entries
    .filter(([, value]) => !isTable(value))
    .map(([name, value]) => [`${titleOf(name)}:`, cellOf(value)]);
  const width = Math.max(...lines.map(([name = '']) => name.length));
  const tables = entries.flatMap(([name, value]) =>
    isTable(value) ? `${titleOf(name)}:\n${describeRows(value)}` : [],
  );
  return [lines.map(([name = '', value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n'), ...tables]
    .filter(Boolean)
    .join('\n\n');
}

function describeRows(rows: readonly unknown[], columns?: readonly string[]): string {
  if (rows.length === 0) return 'None.';
  const records = rows.map((row) => (isRecord(row) ? row : { value: row }));
  const isShown = (name: string): boolean => records.some((row) => cellOf(row[name]) !== '-');
  const names = columns ?? [...new Set(records.flatMap((row) => Object.keys(row)))].filter(isShown);
  return table(
    names.map(titleOf),
    records.map((row) => names.map((name) => cellOf(row[name]))),
  );
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellOf).join(', ');
  if (isRecord(value))
    return Object.entries(value)
      .map(([name, each]) => `${titleOf(name)} ${cellOf(each)}`)
      .join(', ');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : printable(textOf(value));
}

/**
 * Makes a text fit for a terminal. Some come from unknown senders: a control character could control the terminal, a
 * direction mark could disguise the line.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');

/** `verifyToken` → `verify token` */
export const titleOf = (name: string): string => kebab(name).replaceAll('-', ' ');
