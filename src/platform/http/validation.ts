import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import ajvFormats from 'ajv-formats';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { AppError, type FieldError } from '../errors.ts';
import { valuesIn } from '../lib/walk.ts';
import { describeFaults } from './validation-message.ts';

type Part = 'params' | 'body' | 'querystring' | 'headers';
const PARTS: readonly Part[] = ['params', 'querystring', 'headers', 'body'];

/**
 * A list of faults is made for bodies of up to this many values; a larger one names its first fault only. A fault takes
 * about 300 bytes, so a body of 1 MiB full of wrong values would take 150 MB.
 */
const LISTABLE_VALUES = 50_000;
/** Faults that one answer names. */
const LISTED_FAULTS = 1_000;

/** Fastify marks the errors of validators; those of ours are `invalid` with the faults of one part. */
export const isInputError = (error: unknown): boolean => error instanceof AppError && 'validationContext' in error;

/**
 * JSON Schema by Ajv. Bodies are taken as they are: `12` is not a string. Query, path and headers are text, so `10`
 * and `true` are read as number and boolean there and a lone value as a list of one. Unknown fields are ignored.
 * Requests are checked up to their first fault; the full list is made afterwards, for the few that fail.
 * `shared` gives the schemas that others point at by their `$id`; it is asked once, when the first route is compiled.
 */
export function validatorCompiler(shared: () => Record<string, unknown>): FastifySchemaCompiler<unknown> {
  const json = validators(shared, {});
  const text = validators(shared, { coerceTypes: 'array' });
  return ({ schema, httpPart }) => {
    if (!isRecord(schema)) throw new TypeError('a schema must be an object');
    const { first, all } = httpPart === 'body' ? json() : text();
    const check = first.compile(schema);
    // Compiled when first needed: most routes never see a wrong request.
    let list: ValidateFunction | undefined;
    return (data: unknown) => {
      if (check(data)) return true;
      list ??= all.compile(schema);
      return { error: new AppError('invalid', { details: faultsOf(data, check, list) }) };
    };
  };
}

/** Two of each kind: one stops at the first fault, the other lists all. */
function validators(shared: () => Record<string, unknown>, options: Options): () => { first: Ajv; all: Ajv } {
  let made: { first: Ajv; all: Ajv } | undefined;
  return () => {
    const schemas = Object.values(shared()).filter(isRecord);
    made ??= {
      first: createAjv(options).addSchema(schemas),
      all: createAjv({ ...options, allErrors: true }).addSchema(schemas),
    };
    return made;
  };
}

function createAjv(options: Options): Ajv {
  const ajv = new Ajv({
    ...options,
    useDefaults: true,
    removeAdditional: false,
    verbose: true,
    // Strict mode knows no annotations (`example`, our `x-message`) and no default inside a union.
    strict: false,
  });
  ajvFormats.default(ajv, ['date-time', 'date', 'uuid', 'email', 'uri']);
  return ajv;
}

function faultsOf(data: unknown, first: ValidateFunction, all: ValidateFunction): readonly FieldError[] {
  if (data === null || data === undefined) return [{ field: 'body', message: 'is required' }];
  if (holdsAtMost(LISTABLE_VALUES, data) && !all(data)) return describeFaults(errorsOf(all));
  return describeFaults(errorsOf(first));
}

const errorsOf = (validate: ValidateFunction): ErrorObject[] => validate.errors ?? [];

function holdsAtMost(limit: number, document: unknown): boolean {
  let left = limit;
  for (const _ of valuesIn(document)) if (--left < 0) return false;
  return true;
}

/**
 * 400 with the faults of every part of the request: Fastify itself stops at the first part that has one. And with what
 * the route knows besides (`config.moreFaults`).
 */
export async function invalidInput(request: FastifyRequest): Promise<AppError> {
  const refused = PARTS.flatMap((part) => faultsOfPart(request, part));
  const more = await request.routeOptions.config.moreFaults?.(request, refused);
  const faults = [...refused, ...(more ?? [])];
  const named = faults.slice(0, LISTED_FAULTS);
  if (faults.length > named.length) named.push({ field: '', message: `and ${faults.length - named.length} more` });
  return new AppError('invalid', { message: summary(faults), details: named });
}

function faultsOfPart(request: FastifyRequest, part: Part): readonly FieldError[] {
  const validate: unknown = request.getValidationFunction(part);
  if (typeof validate !== 'function') return [];
  const result: unknown = validate(request[part === 'querystring' ? 'query' : part] ?? null);
  const error: unknown = isRecord(result) ? result['error'] : undefined;
  return error instanceof AppError ? (error.details ?? []) : [];
}

/** The message in words, for those who show only that: the first three faults. */
function summary(faults: readonly FieldError[]): string {
  const words = faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`);
  return words.join('; ') + (faults.length > 3 ? `; and ${faults.length - 3} more` : '');
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
