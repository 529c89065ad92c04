import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isRecord } from '../core/schema.ts';

/** Builds the schema of the first pause of a throttled connection, in ms; `when` says who throttles what. */
export const throttlePause = (when: string) =>
  Type.Integer({
    description: `First pause ${when} and takes nothing; doubles up to 30 s. Otherwise the rate follows what it takes.`,
    minimum: 1,
    maximum: 30_000,
    default: 1000,
  });

type ValueError = ReturnType<typeof Value.Errors>[number];

/** An invalid setting; `field` is its dotted path. */
type SettingFault = { readonly field: string; readonly message: string };

/**
 * Validates the stored or posted settings of a carrier and fills in the defaults. Throws an Error whose message begins
 * with the first invalid field and names all of them; `faultsIn` extracts them.
 */
export function parseSettings<Schema extends TSchema>(schema: Schema, json: unknown): Static<Schema> {
  const settings = Value.Default(schema, Value.Clone(json));
  if (isValid(schema, settings)) return settings;
  const faults = faultsOf(schema, settings);
  throw new Error(faults.map(({ field, message }) => `${field}: ${message}`).join('; '), { cause: faults });
}

/**
 * Extracts the invalid settings from an error of `parseSettings`, or from any error that begins with a field and a
 * colon.
 */
export function faultsIn(error: unknown): readonly SettingFault[] {
  if (!(error instanceof Error)) return [{ field: 'settings', message: String(error) }];
  if (Array.isArray(error.cause)) return error.cause;
  const [, field = 'settings', message = error.message] = /^([\w.]+): (.*)$/s.exec(error.message) ?? [];
  return [{ field, message }];
}

function isValid<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  return Value.Check(schema, value);
}

/** Returns one fault per field. */
function faultsOf(schema: TSchema, value: unknown): SettingFault[] {
  const faults = new Map<string, string>();
  for (const fault of Value.Errors(schema, value)) {
    // The unknown fields are reported one by one as well.
    if (fault.keyword === 'additionalProperties') continue;
    const at = fault.instancePath.slice(1).replaceAll('/', '.');
    for (const name of fault.keyword === 'required' ? fault.params.requiredProperties : ['']) {
      const field = [at, name].filter((part) => part !== '').join('.') || 'settings';
      if (!faults.has(field)) faults.set(field, messageFor(fault));
    }
  }
  return [...faults].map(([field, message]) => ({ field, message }));
}

function messageFor(fault: ValueError): string {
  if (fault.keyword === 'boolean') return 'unknown setting';
  if (fault.keyword === 'required') return 'is required';
  if (fault.keyword === 'enum') return `must be one of ${fault.params.allowedValues.join(', ')}`;
  return fault.message;
}

// Reads JSON from outside, which may have any shape: none of these functions throws.

/** Returns an object's own member; undefined if it has none or `json` is not an object. */
export function getMember(json: unknown, name: string): unknown {
  return isRecord(json) && Object.hasOwn(json, name) ? json[name] : undefined;
}

/** A string as PostgreSQL can store it, without NULs and lone surrogates; an empty string for anything else. */
const toStorableText = (json: unknown): string =>
  typeof json === 'string' ? json.replaceAll('\0', '').toWellFormed() : '';

/**
 * Returns a string member without NULs and lone surrogates, which cannot be stored; an empty string for anything else.
 */
export const getText = (json: unknown, name: string): string => toStorableText(getMember(json, name));

/** Returns an array member; an empty array for anything else. */
export function getList(json: unknown, name: string): readonly unknown[] {
  const list = getMember(json, name);
  return Array.isArray(list) ? list : [];
}

/** Parses a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Our file in a message: networks that take uploads get it from us, and need not fetch it by its link. */
export type OwnFile = {
  /** Identifies the file among all. */
  readonly key: string;
  readonly mimeType: string;
  readonly name: string;
  /** Reads the whole file; rejects if it is gone. */
  read(): Promise<Uint8Array>;
  /** Finds the network's id of a copy for this sender that was saved before and has not expired. */
  findCopy(sender: string): Promise<string | null>;
  /** Saves the network's id of a copy, for all processes. */
  saveCopy(copy: FileCopy & { readonly days: number }): Promise<void>;
  /** Deletes a copy that the network did not accept. */
  forgetCopy(copy: FileCopy): Promise<void>;
};

type FileCopy = { readonly sender: string; readonly networkId: string };
