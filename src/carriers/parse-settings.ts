import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

type ValueError = ReturnType<typeof Value.Errors>[number];

/** A setting that is not as it must be, by its dotted path. */
export type SettingFault = { readonly field: string; readonly message: string };

/**
 * Checks stored or posted settings of a carrier and fills in the defaults. Throws an Error whose message names every
 * field at fault, the first one at its beginning; `faultsIn` reads them from it.
 */
export function parseSettings<Schema extends TSchema>(schema: Schema, json: unknown): Static<Schema> {
  const settings = Value.Default(schema, Value.Clone(json));
  if (isValid(schema, settings)) return settings;
  const faults = faultsOf(schema, settings);
  throw new Error(faults.map(({ field, message }) => `${field}: ${message}`).join('; '), { cause: faults });
}

/** The faults that an error of `parseSettings`, or another one that begins with a field and a colon, tells of. */
export function faultsIn(error: unknown): readonly SettingFault[] {
  if (!(error instanceof Error)) return [{ field: 'settings', message: String(error) }];
  if (Array.isArray(error.cause)) return error.cause;
  const [, field = 'settings', message = error.message] = /^([\w.]+): (.*)$/s.exec(error.message) ?? [];
  return [{ field, message }];
}

function isValid<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  return Value.Check(schema, value);
}

/** One for each field. */
function faultsOf(schema: TSchema, value: unknown): SettingFault[] {
  const faults = new Map<string, string>();
  for (const fault of Value.Errors(schema, value)) {
    // Told of the fields themselves, one by one.
    if (fault.keyword === 'additionalProperties') continue;
    const at = fault.instancePath.slice(1).replaceAll('/', '.');
    for (const name of fault.keyword === 'required' ? fault.params.requiredProperties : ['']) {
      const field = [at, name].filter((part) => part !== '').join('.') || 'settings';
      if (!faults.has(field)) faults.set(field, sentenceOf(fault));
    }
  }
  return [...faults].map(([field, message]) => ({ field, message }));
}

function sentenceOf(fault: ValueError): string {
  if (fault.keyword === 'boolean') return 'unknown setting';
  if (fault.keyword === 'required') return 'is required';
  if (fault.keyword === 'enum') return `must be one of ${fault.params.allowedValues.join(', ')}`;
  return fault.message;
}
