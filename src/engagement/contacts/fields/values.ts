import type { FieldError } from '../../../platform/errors.ts';
import type { FieldRow, FieldType } from './sql.ts';

/** A value of a custom field; a date is `yyyy-MM-dd`. */
export type FieldValue = string | number | boolean;
/** Values by the names of their fields, as the API has them. Null removes a value. */
export type NamedValues = Readonly<Record<string, unknown>>;
/** Values by the ids of their fields, as contacts store them. */
export type StoredValues = Readonly<Record<string, FieldValue | null>>;

const MAX_TEXT_LENGTH = 1000;

const isDate = (value: string): boolean => {
  const date = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
};

type Check = { readonly fault: string; readonly accepts: (value: unknown) => value is FieldValue };

const CHECKS: Readonly<Record<FieldType, Check>> = {
  text: {
    fault: `must be a text of at most ${MAX_TEXT_LENGTH} characters`,
    accepts: (value): value is string => typeof value === 'string' && value.length <= MAX_TEXT_LENGTH,
  },
  number: { fault: 'must be a number', accepts: (value): value is number => Number.isFinite(value) },
  boolean: { fault: 'must be true or false', accepts: (value): value is boolean => typeof value === 'boolean' },
  date: {
    fault: 'must be a date (yyyy-MM-dd)',
    accepts: (value): value is string => typeof value === 'string' && isDate(value),
  },
};

const byName = (fields: readonly FieldRow[]) => new Map(fields.map((field) => [field.name.toLowerCase(), field]));

/** Returns the error message for a value that is not of this type. */
export const faultOfType = (type: FieldType): string => CHECKS[type].fault;

/** Reads values by name: returns them by the ids of their fields, and the errors. Names are case-insensitive. */
export function readValues(
  fields: readonly FieldRow[],
  values: NamedValues,
): { stored: StoredValues; faults: FieldError[] } {
  const known = byName(fields);
  const stored: Record<string, FieldValue | null> = {};
  const faults: FieldError[] = [];
  for (const [name, value] of Object.entries(values)) {
    const field = known.get(name.toLowerCase());
    if (!field) faults.push({ field: `customFields.${name}`, message: 'is not a custom field of this account' });
    else if (value === null || CHECKS[field.type].accepts(value)) stored[field.id] = value;
    else faults.push({ field: `customFields.${name}`, message: faultOfType(field.type) });
  }
  return { stored, faults };
}

/**
 * Converts a text (from a query, or a cell of a file) to the type of its field; undefined if it is not of that type.
 */
export function readText(field: Pick<FieldRow, 'type'>, text: string): FieldValue | undefined {
  const value = fromText(field.type, text.trim());
  return CHECKS[field.type].accepts(value) ? value : undefined;
}

function fromText(type: FieldType, text: string): unknown {
  if (type === 'number') return text === '' ? undefined : Number(text);
  if (type !== 'boolean') return text;
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

/** Returns stored values by the names of their fields. Values of deleted fields are omitted. */
export const toNamed = (fields: readonly FieldRow[], stored: StoredValues): Record<string, FieldValue> =>
  Object.fromEntries(
    fields.flatMap(({ id, name }) => {
      const value = stored[id];
      return value === undefined || value === null ? [] : [[name, value] as const];
    }),
  );
