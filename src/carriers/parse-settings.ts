import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/**
 * Checks stored or posted settings of a carrier and fills in the defaults. Throws an Error whose message names the
 * field at fault.
 */
export function parseSettings<Schema extends TSchema>(schema: Schema, json: unknown): Static<Schema> {
  const settings = Value.Default(schema, Value.Clone(json));
  if (!isValid(schema, settings)) throw new Error(firstFault(schema, settings));
  return settings;
}

function isValid<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  return Value.Check(schema, value);
}

function firstFault(schema: TSchema, value: unknown): string {
  const [fault] = Value.Errors(schema, value);
  if (!fault) return 'settings: not valid';
  const missing = fault.keyword === 'required' ? fault.params.requiredProperties[0] : undefined;
  const field = missing ?? fault.instancePath.slice(1).replaceAll('/', '.');
  return `${field === '' ? 'settings' : field}: ${fault.keyword === 'boolean' ? 'unknown setting' : fault.message}`;
}
