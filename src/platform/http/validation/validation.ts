import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import ajvFormats from 'ajv-formats';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { AppError, type FieldError } from '../../errors.ts';
import { dropEmptyFilters, forgiveCase, forgiveNull } from './forgive.ts';
import { describeFaults } from './message.ts';
import { isUuid } from '../../lib/ids.ts';
import { isRecord } from '../../lib/is-record.ts';

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
 * fail are checked again, once, for the list. `shared` returns the schemas that others refer to by their `$id`; it is
 * called once, when the first route is compiled.
 */
export function validatorCompiler(shared: () => Record<string, unknown>): FastifySchemaCompiler<unknown> {
  const json = validators(shared, {});
  const text = validators(shared, { coerceTypes: 'array' });
  return ({ schema, httpPart, method }): Validator => {
    if (!isRecord(schema)) throw new TypeError('a schema must be an object');
    const { first, all } = httpPart === 'body' ? json() : text();
    const check = first.compile(schema);
    // Compiled when first needed: most routes never get an invalid request.
    let list: ValidateFunction | undefined;
    const findAll = (data: unknown): ErrorObject[] => {
      list ??= all.compile(schema);
      return hasAtMost(MAX_VALUES_FOR_FULL_LIST, data) && !list(data) ? errorsOf(list) : errorsOf(check);
    };
    const listFaults = (data: unknown): readonly FieldError[] => {
      if (check(data)) return [];
      if (data === null || data === undefined) return [{ field: 'body', message: 'is required' }];
      return describeFaults(findAll(data));
    };
    const correct = (data: unknown): boolean => {
      const faults = findAll(data);
      const isNullGone = httpPart === 'body' && method === 'POST' && forgiveNull(data, faults);
      return forgiveCase(data, faults) || isNullGone;
    };
    const passes = (data: unknown): boolean => {
      if (httpPart === 'querystring' && method === 'GET') dropEmptyFilters(data, schema);
      for (let tries = 0; tries < MAX_CORRECTIONS; tries++) {
        if (check(data)) return true;
        if (!FORGIVEN.includes(httpPart) || !correct(data)) return false;
      }
      return check(data);
    };
    return Object.assign((data: unknown) => passes(data) || { error: new AppError('invalid') }, { listFaults });
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
  ajvFormats.default(ajv, ['date-time', 'date', 'email', 'uri']);
  // Theirs accepts `urn:uuid:` as well, which PostgreSQL does not.
  ajv.addFormat('uuid', isUuid);
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
  const { stranger, moreFaults } = request.routeOptions.config;
  const refused = PARTS.flatMap((part) => faultsOfPart(request, part)).slice(0, stranger ? 1 : undefined);
  const more = stranger ? undefined : await moreFaults?.(request, refused);
  const faults = [...refused, ...(more ?? [])];
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
