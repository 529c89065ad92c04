import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import ajvFormats from 'ajv-formats';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { lazily } from '../background.ts';
import { AppError, type FieldError } from '../errors.ts';
import { isUuid } from '../ids.ts';
import { isRecord } from '../schema.ts';
import { parseInstant } from '../time.ts';
import { strictFaults } from './unknown-fields.ts';

/**
 * Corrects the case of words in a document that a schema rejected: `text` becomes `TEXT` where the schema has a list of
 * words with that one, and `sms, rcs` becomes `SMS,RCS` where its pattern accepts that. In a query, which is text, a
 * boolean may be written `True` or `1`, and such a list as repeated parameters. Returns true if it changed anything.
 */
function forgiveCase(document: unknown, faults: readonly ErrorObject[], isText: boolean): boolean {
  let changed = false;
  for (const fault of faults) changed = correct(document, pathOf(fault.instancePath), fault, isText) || changed;
  return changed;
}

/** The members on the way to a value, from a JSON Pointer (RFC 6901). */
const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

function correct(document: unknown, path: readonly string[], fault: ErrorObject, isText: boolean): boolean {
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), document);
  if (last === undefined || !isRecord(parent) || !Object.hasOwn(parent, last)) return false;
  const given = parent[last];
  const word = isText && fault.keyword === 'type' ? typed(fault, given) : correctedWord(fault, given);
  if (word === undefined || word === given) return false;
  parent[last] = word;
  return true;
}

/** Returns the boolean that a text means, or the list with commas that repeated parameters are. */
function typed({ params, parentSchema }: ErrorObject, given: unknown): boolean | string | undefined {
  if (params['type'] === 'boolean') return typeof given === 'string' ? BOOLEANS.get(given.toLowerCase()) : undefined;
  const isList = Array.isArray(given) && given.every((each) => typeof each === 'string');
  return isList && String(parentSchema?.['pattern']).includes(',') ? given.join(',') : undefined;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function correctedWord(fault: ErrorObject, given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  return fault.keyword === 'pattern' ? capitals(given, fault.params['pattern']) : wordOf(fault, given);
}

function wordOf({ keyword, params }: ErrorObject, given: string): string | undefined {
  const allowed: unknown[] =
    keyword === 'enum' ? [params['allowedValues']].flat() : keyword === 'const' ? [params['allowedValue']] : [];
  return allowed.filter((each) => typeof each === 'string').find((each) => each.toLowerCase() === given.toLowerCase());
}

/** Returns the words in capitals, if the pattern accepts them: a pattern for words with commas between them. */
function capitals(given: string, pattern: unknown): string | undefined {
  const words = given.slice(0, 300).toUpperCase().replace(/ *, */g, ',');
  return /^[A-Z_,]{1,200}$/.test(words) && new RegExp(String(pattern), 'u').test(words) ? words : undefined;
}

/**
 * Removes the members of objects that are null in a document that a schema rejected for it, and the members with the
 * same names in all other entries of the same list: many clients write null for unset values. A missing required member
 * fails the next check. Returns true if it changed anything.
 */
function forgiveNull(document: unknown, faults: readonly ErrorObject[]): boolean {
  let changed = false;
  for (const { data, instancePath } of faults)
    if (data === null) changed = removeNull(document, pathOf(instancePath)) || changed;
  return changed;
}

function removeNull(at: unknown, [key = '', ...rest]: readonly string[]): boolean {
  if (Array.isArray(at)) {
    if (rest.length === 0) return false;
    let changed = false;
    for (const item of at) changed = removeNull(item, rest) || changed;
    return changed;
  }
  if (!isRecord(at) || !Object.hasOwn(at, key)) return false;
  if (rest.length > 0) return removeNull(at[key], rest);
  return at[key] === null && Reflect.deleteProperty(at, key);
}

/**
 * Removes empty parameters that a schema names from the query of a list: clients send the filters that are not set.
 * Other queries stay as they are: the signature of a link, for one, was checked before.
 */
function dropEmptyFilters(query: unknown, { properties }: Record<string, unknown>): void {
  if (!isRecord(query) || !isRecord(properties) || !Object.hasOwn(properties, 'limit')) return;
  for (const name of Object.keys(query))
    if (query[name] === '' && Object.hasOwn(properties, name)) Reflect.deleteProperty(query, name);
}

/** Makes a text that only JavaScript takes for a number (`0x10`, `1e2`) none, where a number is wanted. */
function refuseOtherNumerals(texts: unknown, { properties }: Record<string, unknown>): void {
  if (!isRecord(texts) || !isRecord(properties)) return;
  for (const [name, text] of Object.entries(texts)) {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const isNumber = isRecord(field) && (field['type'] === 'integer' || field['type'] === 'number');
    if (isNumber && typeof text === 'string' && /[a-z]/i.test(text)) texts[name] = `'${text}'`;
  }
}

/** The parts of an Ajv error that its message needs. */
type Fault = Pick<ErrorObject, 'instancePath' | 'schemaPath' | 'keyword' | 'params'> &
  Partial<Pick<ErrorObject, 'parentSchema' | 'data'>>;

/**
 * Turns Ajv's errors into messages with the dotted path of their field; a failed union yields the errors of one branch.
 */
export const describeFaults = (errors: readonly ErrorObject[]): FieldError[] =>
  withoutDoubles(foldUnions(errors)).map((fault) => ({ field: fieldOf(fault), message: sentenceOf(fault) }));

/** Drops type errors where the allowed values are listed: a value of the wrong type is none of them either. */
function withoutDoubles(faults: readonly Fault[]): readonly Fault[] {
  const listed = new Set(faults.flatMap((fault) => (fault.keyword === 'enum' ? [fault.instancePath] : [])));
  return faults.filter((fault) => fault.keyword !== 'type' || !listed.has(fault.instancePath));
}

/**
 * Returns the path of a field, as `messages[0].destinations`: `body` for the whole body, a missing field by its name.
 */
function fieldOf(fault: Fault): string {
  const path = pathOf(fault.instancePath);
  if (fault.keyword === 'required') path.push(String(fault.params['missingProperty']));
  return path.map((key, at) => (/^\d+$/.test(key) ? `[${key}]` : at === 0 ? key : `.${key}`)).join('') || 'body';
}

type Sentence = (params: Record<string, unknown>) => string;

const SENTENCES: Readonly<Record<string, Sentence>> = {
  required: () => 'is required',
  type: ({ type }) => `must be ${[type].flat().map(typeName).join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${[allowedValues].flat().join(', ')}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} entries`),
  maxItems: ({ limit }) => `must have at most ${limit} entries`,
  minProperties: ({ limit }) => `must have at least ${limit} fields`,
  maxProperties: ({ limit }) => `must have at most ${limit} fields`,
  uniqueItems: () => 'must not contain the same value twice',
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be more than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}`,
  format: ({ format }) => `must be ${formatName(format)}`,
  pattern: ({ pattern }) => `must match ${pattern}`,
  additionalProperties: ({ additionalProperty }) => `must not have the field ${additionalProperty}`,
  dependentRequired: ({ missingProperty }) => `also needs the field ${missingProperty}`,
  propertyNames: ({ propertyName }) => `has a field with a name that is not allowed: ${propertyName}`,
  oneOf: () => 'must have exactly one of the accepted forms',
  not: () => 'is not allowed in this form',
};

/**
 * Returns the message of an error. Prefers the schema's own one (`x-message`): only the schema knows the meaning of its
 * pattern.
 */
function sentenceOf(fault: Fault): string {
  const own: unknown = fault.parentSchema?.['x-message'];
  if (typeof own === 'string' && fault.keyword !== 'required' && fault.keyword !== 'type') return own;
  return SENTENCES[fault.keyword]?.(fault.params) ?? 'is not valid';
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};
const typeName = (type: unknown): string => TYPES[String(type)] ?? String(type);

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'an ISO 8601 date and time with an offset',
  date: 'a date (yyyy-MM-dd)',
  uuid: 'a UUID',
  email: 'an email address',
  uri: 'a URL',
};
const formatName = (format: unknown): string => FORMATS[String(format)] ?? `a valid ${String(format)}`;

/**
 * Reduces the faults of failed unions. Ajv reports the faults of all branches, then one for the union. Only those of
 * the closest branch are kept, which is the one whose fields were sent: most likely that is the one that was meant.
 */
function foldUnions(errors: readonly ErrorObject[]): Fault[] {
  const faults: Fault[] = [];
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') faults.push(error);
    else {
      // The faults of a value are listed one after another, so those of this union are among the last.
      const start = faults.findLastIndex((fault) => !isAt(fault, error)) + 1;
      const [inside, others] = partition(faults.splice(start), (fault) => isInside(fault, error));
      for (const fault of [...others, ...foldUnion(error, inside)]) faults.push(fault);
    }
  }
  return faults;
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const [first, second]: [T[], T[]] = [[], []];
  for (const item of items) (isFirst(item) ? first : second).push(item);
  return [first, second];
}

/** Returns true if an error concerns the value of the union, or something in it. */
const isAt = ({ instancePath }: Fault, union: Fault): boolean =>
  instancePath === union.instancePath || instancePath.startsWith(`${union.instancePath}/`);

const isInside = (fault: Fault, union: Fault): boolean => fault.schemaPath.startsWith(`${union.schemaPath}/`);

function foldUnion(union: Fault, inside: readonly Fault[]): readonly Fault[] {
  const tagged = foldTagged(union, inside);
  if (tagged !== undefined) return tagged;
  const here = inside.filter((fault) => fault.instancePath === union.instancePath);
  const values = here.filter((fault) => fault.keyword === 'const').map((fault) => fault.params['allowedValue']);
  const branches = [...Map.groupBy(inside, (fault) => branchOf(fault, union)).values()];
  if (values.length > 0 && values.length >= branches.length) {
    return [{ ...union, keyword: 'enum', params: { allowedValues: values } }];
  }
  const plausible = branches.filter((branch) => !branch.some((fault) => isTypeFault(fault, union)));
  const missing = (branch: readonly Fault[]): number =>
    branch.filter((fault) => fault.keyword === 'required' && fault.instancePath === union.instancePath).length;
  const closest = plausible.toSorted((a, b) => missing(a) - missing(b) || a.length - b.length)[0];
  if (closest !== undefined) return closest;
  const types = here.flatMap((fault) => (fault.keyword === 'type' ? [fault.params['type']].flat() : []));
  return types.length > 0 ? [{ ...union, keyword: 'type', params: { type: [...new Set(types)] } }] : [union];
}

/**
 * Returns the faults of a union whose branches differ by a word, such as `type`: those of the branch that it names or,
 * if it names none, that of the word. Undefined for other unions, and for a value that is not an object.
 */
function foldTagged(union: Fault, inside: readonly Fault[]): readonly Fault[] | undefined {
  const tag = isRecord(union.data) && !Array.isArray(union.data) ? tagOf(union) : undefined;
  if (tag === undefined || !isRecord(union.data)) return undefined;
  const given = union.data[tag.name];
  const meant = tag.words.findIndex((words) => words?.includes(given));
  if (meant >= 0) return inside.filter((fault) => branchOf(fault, union) === String(meant));
  if (given === undefined) return [{ ...union, keyword: 'required', params: { missingProperty: tag.name } }];
  const allowedValues = tag.words.flatMap((words) => words ?? []);
  return [{ ...union, instancePath: `${union.instancePath}/${tag.name}`, keyword: 'enum', params: { allowedValues } }];
}

/** The field in which every object of a union has its own words, and these words by branch. */
function tagOf({ parentSchema }: Fault) {
  const branches: unknown = parentSchema?.['anyOf'] ?? parentSchema?.['oneOf'];
  if (!Array.isArray(branches)) return undefined;
  const objects = branches.map((branch) =>
    isRecord(branch) && isRecord(branch['properties']) ? branch['properties'] : undefined,
  );
  const [first, second] = objects.filter((properties) => properties !== undefined);
  if (first === undefined || second === undefined) return undefined;
  const wordsIn = (name: string) => objects.map((properties) => properties && wordsOf(properties[name]));
  // A field that has the same words everywhere, such as an option of all, tells no branch from another.
  const name = Object.keys(first).find((each) => {
    const words = objects.flatMap((properties) => (properties ? [wordsOf(properties[each])] : []));
    return words.every((some) => some !== undefined) && new Set(words.map((some) => some?.join())).size > 1;
  });
  return name === undefined ? undefined : { name, words: wordsIn(name) };
}

function wordsOf(schema: unknown): readonly unknown[] | undefined {
  if (!isRecord(schema)) return undefined;
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

/** Returns true if the branch does not even accept this type of value, so that it was not the one meant. */
const isTypeFault = (fault: Fault, union: Fault): boolean =>
  fault.keyword === 'type' && fault.instancePath === union.instancePath;

const branchOf = (fault: Fault, union: Fault): string =>
  fault.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] ?? '';

type Part = 'params' | 'body' | 'querystring' | 'headers';
const PARTS: readonly Part[] = ['params', 'querystring', 'headers', 'body'];
/** The parts in which a word may have any case. */
const FORGIVEN: readonly (string | undefined)[] = ['body', 'querystring'];

/**
 * All faults are collected for parts of up to this many values; for larger ones only the first fault is reported. A
 * fault takes about 4 µs and 300 bytes.
 */
const MAX_VALUES_FOR_FULL_LIST = 2_000;
/**
 * A corrected word may decide which branch of a union is meant, which may have further words to correct. Of a large
 * body only the first fault is known, and corrected, each time.
 */
const MAX_CORRECTIONS = 10;
/** Maximum number of faults in one response. */
const MAX_LISTED_FAULTS = 100;

/**
 * Returns true if an error comes from our validator; Fastify marks such errors. They name no faults: `invalidInput`
 * lists them.
 */
export const isInputError = (error: unknown): boolean => error instanceof AppError && 'validationContext' in error;

/** Validates one part of a request. Fastify calls it, and only checks if there is a fault. */
type Validator = ((data: unknown) => true | { readonly error: AppError }) & {
  /** All faults of the part, or the first one if it is large. */
  readonly listFaults: (data: unknown) => readonly FieldError[];
};

/**
 * Compiles JSON Schemas with Ajv. Bodies are not coerced: `12` is not a string. Query, path and headers are text, so
 * `10` and `true` become a number and a boolean there, and a single value becomes a list of one. In bodies and
 * queries, the case of words is corrected; an optional field of a POST that is null counts as absent, and so does an
 * empty filter of a list. Unknown fields are ignored. Requests are checked up to their first fault; only those that
 * fail are checked again, once, for the list. A schema is compiled for the first request to its route: all together take
 * a second. `shared` returns the schemas that others refer to by their `$id`; it is called once.
 */
export function validatorCompiler(shared: () => Record<string, unknown>): FastifySchemaCompiler<unknown> {
  const json = validators(shared, {});
  const text = validators(shared, { coerceTypes: 'array' });
  return ({ schema, httpPart, method }): Validator => {
    if (!isRecord(schema)) throw new TypeError('a schema must be an object');
    const made = httpPart === 'body' ? json : text;
    const check = lazily(() => made().first.compile(schema));
    const list = lazily(() => made().all.compile(schema));
    const findAll = (data: unknown): ErrorObject[] =>
      errorsOf(hasAtMost(MAX_VALUES_FOR_FULL_LIST, data) && !list()(data) ? list() : check());
    const listFaults = (data: unknown): readonly FieldError[] => {
      if (check()(data)) return [];
      if (data === null || data === undefined) return [{ field: 'body', message: 'is required' }];
      return describeFaults(findAll(data));
    };
    const correct = (data: unknown): boolean => {
      const faults = findAll(data);
      const isNullGone = httpPart === 'body' && method === 'POST' && forgiveNull(data, faults);
      return forgiveCase(data, faults, httpPart === 'querystring') || isNullGone;
    };
    const passes = (data: unknown): boolean => {
      if (httpPart === 'querystring' && method === 'GET') dropEmptyFilters(data, schema);
      if (httpPart !== 'body') refuseOtherNumerals(data, schema);
      for (let tries = 0; tries < MAX_CORRECTIONS; tries++) {
        if (check()(data)) return true;
        if (!FORGIVEN.includes(httpPart) || !correct(data)) return false;
      }
      return check()(data);
    };
    return Object.assign((data: unknown) => passes(data) || { error: new AppError('invalid') }, { listFaults });
  };
}

/** Creates two validators with the same options: one stops at the first fault, the other lists all. */
const validators = (shared: () => Record<string, unknown>, options: Options): (() => { first: Ajv; all: Ajv }) =>
  lazily(() => {
    const schemas = Object.values(shared()).filter(isRecord);
    return {
      first: createAjv(options).addSchema(schemas),
      all: createAjv({ ...options, allErrors: true }).addSchema(schemas),
    };
  });

function createAjv(options: Options): Ajv {
  const ajv = new Ajv({
    ...options,
    useDefaults: true,
    removeAdditional: false,
    verbose: true,
    // Takes as long as compiling; src/openapi-rules.test.ts checks all schemas.
    validateSchema: false,
    // Strict mode rejects annotations (`example`, our `x-message`) and defaults inside a union.
    strict: false,
  });
  ajvFormats.default(ajv, ['date', 'email', 'uri']);
  // Theirs accepts `urn:uuid:` as well, which PostgreSQL does not.
  ajv.addFormat('uuid', isUuid);
  // Theirs accepts leap seconds and offsets without minutes, of which JavaScript makes no date.
  ajv.addFormat('date-time', (text) => parseInstant(text) !== null && !Number.isNaN(Date.parse(text)));
  return ajv;
}

const errorsOf = (validate: ValidateFunction): ErrorObject[] => validate.errors ?? [];

/** Returns true if a document has at most this many values. It stops as soon as there are more. */
function hasAtMost(limit: number, document: unknown): boolean {
  const waiting = [document];
  let values = 1;
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (!isRecord(value)) continue;
    const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
    values += children.length;
    if (values > limit) return false;
    waiting.push(...children);
  }
  return true;
}

/**
 * Returns 400 with the faults of every part of the request (Fastify itself stops at the first part that has one) and
 * with those that the route finds itself (`config.moreFaults`); on a route for unauthenticated clients, with the first
 * fault.
 */
export async function invalidInput(request: FastifyRequest): Promise<AppError> {
  const { unauthenticated, moreFaults } = request.routeOptions.config;
  const refused = PARTS.flatMap((part) => faultsOfPart(request, part)).slice(0, unauthenticated ? 1 : undefined);
  const more = unauthenticated ? undefined : await moreFaults?.(request, refused);
  const faults = [...refused, ...(more ?? []), ...(unauthenticated ? [] : strictFaults(request))];
  const named = faults.slice(0, MAX_LISTED_FAULTS);
  if (faults.length > named.length) named.push({ field: '', message: `and ${faults.length - named.length} more` });
  return new AppError('invalid', { message: summary(faults), details: named });
}

function faultsOfPart(request: FastifyRequest, part: Part): readonly FieldError[] {
  const validate: unknown = request.getValidationFunction(part);
  return isValidator(validate) ? validate.listFaults(request[part === 'querystring' ? 'query' : part] ?? null) : [];
}

const isValidator = (validate: unknown): validate is Validator =>
  typeof validate === 'function' && 'listFaults' in validate;

/** Returns the message for clients that show nothing else: the first three faults. */
function summary(faults: readonly FieldError[]): string {
  const words = faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`);
  return words.join('; ') + (faults.length > 3 ? `; and ${faults.length - 3} more` : '');
}
