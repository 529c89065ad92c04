import type { ErrorObject } from 'ajv';
import type { FieldError } from '../../errors.ts';
import { isRecord } from '../../lib/is-record.ts';
import { pathOf } from './forgive.ts';

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
  const name = Object.keys(first).find((each) =>
    objects.every((properties) => !properties || wordsOf(properties[each])),
  );
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
