import type { FastifyRequest } from 'fastify';
import { type Static, type TObject, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FieldError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What else is wrong with a request that its schema refused: see `bodyFaults`. */
    moreFaults?: MoreFaults;
  }
}

export type MoreFaults = (request: FastifyRequest, refused: readonly FieldError[]) => Promise<readonly FieldError[]>;

/** Whether the schema refused this field of the body, or something in it: nothing is known of it then. */
export type IsRefused = (field: string) => boolean;

/**
 * For `config.moreFaults` of a route whose handler knows faults that no schema can (contract 1: an error names every
 * field at fault). When the schema refused some of the body, `find` gets the rest of it, every field optional, and
 * answers what the handler would have said of that. It changes nothing.
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
    const sound = soundPart(request.body, fields);
    return Value.Check(partial, sound) ? find(sound, request, (field) => fields.has(field)) : [];
  };

/** With the objects around them: `a.b` is also something in `a`. Of an entry of an array, the array. */
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

/** The fields that were not refused; of an object with some that were, its others. */
function soundPart(body: unknown, refused: ReadonlySet<string>, path = ''): unknown {
  if (!isRecord(body)) return body;
  return Object.fromEntries(
    Object.entries(body).flatMap(([key, value]) => {
      const at = path + key;
      if (!refused.has(at)) return [[key, value]];
      return path === '' && isRecord(value) ? [[key, soundPart(value, refused, `${at}.`)]] : [];
    }),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
