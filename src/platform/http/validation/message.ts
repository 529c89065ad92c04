import type { ErrorObject } from 'ajv';
import type { FieldError } from '../../errors.ts';

/** The parts of an Ajv error that its message needs. */
type Fault = Pick<ErrorObject, 'instancePath' | 'schemaPath' | 'keyword' | 'params'> & {
  readonly parentSchema?: ErrorObject['parentSchema'];
};

/**
 * Turns Ajv's errors into messages with the dotted path of their field; a failed union yields the errors of one branch.
 */
export const describeFaults = (errors: readonly ErrorObject[]): FieldError[] =>
  foldUnions(errors).map((fault) => ({ field: fieldOf(fault), message: sentenceOf(fault) }));

/**
 * Returns the path of a field, as `messages[0].destinations`: `body` for the whole body, a missing field by its name.
 */
function fieldOf(fault: Fault): string {
  const path = fault.instancePath.split('/').slice(1).map(unescape);
  if (fault.keyword === 'required') path.push(String(fault.params['missingProperty']));
  return path.map((key, at) => (/^\d+$/.test(key) ? `[${key}]` : at === 0 ? key : `.${key}`)).join('') || 'body';
}

const unescape = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');

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

/** Prefers the schema's own message (`x-message`): only the schema knows what its pattern means. */
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
  email: 'an e-mail address',
  uri: 'a URL',
};
const formatName = (format: unknown): string => FORMATS[String(format)] ?? `a valid ${String(format)}`;

/**
 * Reduces the faults of failed unions. Ajv reports the faults of all branches, then one for the union. Only those of
 * the closest branch are kept, which is the one whose fields were sent: that is most likely what the sender got wrong.
 */
function foldUnions(errors: readonly ErrorObject[]): Fault[] {
  let faults: Fault[] = [];
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') faults.push(error);
    else {
      const inside = faults.filter((fault) => isInside(fault, error));
      faults = [...faults.filter((fault) => !isInside(fault, error)), ...foldUnion(error, inside)];
    }
  }
  return faults;
}

const isInside = (fault: Fault, union: Fault): boolean => fault.schemaPath.startsWith(`${union.schemaPath}/`);

function foldUnion(union: Fault, inside: readonly Fault[]): readonly Fault[] {
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

/** Whether the branch does not even accept this type of value, so that it was not the one meant. */
const isTypeFault = (fault: Fault, union: Fault): boolean =>
  fault.keyword === 'type' && fault.instancePath === union.instancePath;

const branchOf = (fault: Fault, union: Fault): string =>
  fault.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0] ?? '';
