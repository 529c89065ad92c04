import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import ajvFormats from 'ajv-formats';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { AppError, type FieldError } from '../../errors.ts';
import { valuesIn } from '../../lib/walk.ts';
import { describeFaults } from './message.ts';
import { isRecord } from '../../lib/is-record.ts';

type Part = 'params' | 'body' | 'querystring' | 'headers';
const PARTS: readonly Part[] = ['params', 'querystring', 'headers', 'body'];

/**
 * All faults are listed for bodies of up to this many values; for larger ones only the first fault is reported. A fault
 * takes about 300 bytes, so a body of 1 MiB full of wrong values would take 150 MB.
 */
const MAX_VALUES_FOR_FULL_LIST = 50_000;
/** Maximum number of faults in one answer. */
const MAX_LISTED_FAULTS = 1_000;

/**
 * Whether an error comes from our validator; Fastify marks such errors. They have the faults of one part of a request.
 */
export const isInputError = (error: unknown): boolean => error instanceof AppError && 'validationContext' in error;

/**
 * Compiles JSON Schemas with Ajv. Bodies are not coerced: `12` is not a string. Query, path and headers are text, so
 * `10` and `true` become a number and a boolean there, and a single value becomes a list of one. Unknown fields are
 * ignored. Requests are checked up to their first fault; only those that fail are checked again for the full list.
 * `shared` returns the schemas that others refer to by their `$id`; it is called once, when the first route is
 * compiled.
 */
export function validatorCompiler(shared: () => Record<string, unknown>): FastifySchemaCompiler<unknown> {
  const json = validators(shared, {});
  const text = validators(shared, { coerceTypes: 'array' });
  return ({ schema, httpPart }) => {
    if (!isRecord(schema)) throw new TypeError('a schema must be an object');
    const { first, all } = httpPart === 'body' ? json() : text();
    const check = first.compile(schema);
    // Compiled when first needed: most routes never get an invalid request.
    let list: ValidateFunction | undefined;
    return (data: unknown) => {
      if (check(data)) return true;
      list ??= all.compile(schema);
      return { error: new AppError('invalid', { details: faultsOf(data, check, list) }) };
    };
  };
}

/** Creates two validators with the same options: one stops at the first fault, the other lists all. */
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
    // Strict mode rejects annotations (`example`, our `x-message`) and defaults inside a union.
    strict: false,
  });
  ajvFormats.default(ajv, ['date-time', 'date', 'uuid', 'email', 'uri']);
  return ajv;
}

function faultsOf(data: unknown, first: ValidateFunction, all: ValidateFunction): readonly FieldError[] {
  if (data === null || data === undefined) return [{ field: 'body', message: 'is required' }];
  if (hasAtMost(MAX_VALUES_FOR_FULL_LIST, data) && !all(data)) return describeFaults(errorsOf(all));
  return describeFaults(errorsOf(first));
}

const errorsOf = (validate: ValidateFunction): ErrorObject[] => validate.errors ?? [];

function hasAtMost(limit: number, document: unknown): boolean {
  let left = limit;
  for (const _ of valuesIn(document)) if (--left < 0) return false;
  return true;
}

/**
 * Returns 400 with the faults of every part of the request (Fastify itself stops at the first part that has one) and
 * with those that the route finds itself (`config.moreFaults`).
 */
export async function invalidInput(request: FastifyRequest): Promise<AppError> {
  const refused = PARTS.flatMap((part) => faultsOfPart(request, part));
  const more = await request.routeOptions.config.moreFaults?.(request, refused);
  const faults = [...refused, ...(more ?? [])];
  const named = faults.slice(0, MAX_LISTED_FAULTS);
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

/** The message for clients that show nothing else: the first three faults. */
function summary(faults: readonly FieldError[]): string {
  const words = faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`);
  return words.join('; ') + (faults.length > 3 ? `; and ${faults.length - 3} more` : '');
}
