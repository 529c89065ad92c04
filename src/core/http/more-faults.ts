import type { FastifyRequest } from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { AppError, type FieldError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Finds further errors in a request that its schema rejected; made by `bodyFaults`. */
    moreFaults?: MoreFaults;
  }
}

/** Finds further errors in a request, given those that its schema found. */
type MoreFaults = (request: FastifyRequest, refused: readonly FieldError[]) => Promise<readonly FieldError[]>;

/** Returns true if the schema rejected this field of the body or something in it; the field then has no known value. */
type IsRefused = (field: string) => boolean;

/**
 * Creates `config.moreFaults` for a route whose handler finds errors that no schema can express, since an error names
 * every invalid field. If the schema rejected a part of the body, `find` gets the rest of it, with every field
 * optional, and returns the errors that the handler would have found in it. It must not change anything.
 */
export const bodyFaults =
  <S extends TObject>(
    schema: S,
    find: (
      sound: Static<ReturnType<typeof Type.Partial<S>>>,
      request: FastifyRequest,
      isRefused: IsRefused,
    ) => readonly FieldError[] | Promise<readonly FieldError[]>,
  ): MoreFaults =>
  async (request, refused) => {
    const partial = Type.Partial(schema);
    const fields = fieldsOf(refused);
    const sound = validPart(request.body, fields);
    return Value.Check(partial, sound) ? find(sound, request, (field) => fields.has(field)) : [];
  };

/**
 * Creates `config.moreFaults` for a route whose handler reads its body with `read` before it changes anything, and
 * throws every error of it. A body that needs its rejected fields is not read.
 */
export const readFaults =
  <S extends TSchema>(schema: S, read: (sound: Static<S>, request: FastifyRequest) => unknown): MoreFaults =>
  async (request, refused) => {
    const fields = fieldsOf(refused);
    const sound = validPart(request.body, fields);
    if (!Value.Check(schema, sound)) return [];
    try {
      await read(sound, request);
      return [];
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
      return (error.details ?? []).filter(({ field }) => !fields.has(field));
    }
  };

/**
 * The invalid fields and the objects around them: `a.b` also stands for `a`. An entry of an array stands for the array.
 */
function fieldsOf(faults: readonly FieldError[]): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const { field } of faults) {
    const path = field.replace(/\[.*$/s, '');
    fields.add(path);
    const dot = path.indexOf('.');
    if (dot > 0) fields.add(path.slice(0, dot));
  }
  return fields;
}

/** Returns the fields that were not rejected; of an object with rejected fields, its other fields. */
function validPart(body: unknown, refused: ReadonlySet<string>, path = ''): unknown {
  if (!isObject(body)) return body;
  return Object.fromEntries(
    Object.entries(body).flatMap(([key, value]) => {
      const at = path + key;
      if (!refused.has(at)) return [[key, value]];
      return path === '' && isObject(value) ? [[key, validPart(value, refused, `${at}.`)]] : [];
    }),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
