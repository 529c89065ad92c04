import type { Kind } from './kind.ts';

/** A setting or a field of the secret in a form; `useFieldTexts` returns its texts. */
export type Field = {
  readonly name: string;
  /** `list`: texts with commas or spaces between them; `key`: the text of a JSON file. */
  readonly type: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'secret' | 'key';
  readonly options: readonly (string | number)[];
  /** What applies when the field is empty; undefined when there is nothing. */
  readonly fallback?: unknown;
  readonly isRequired: boolean;
  readonly maxLength?: number | undefined;
  readonly description: string;
};

/** The fields of a form for one kind of connections, in the order in which it asks for them. */
export type KindFields = {
  readonly access: readonly Field[];
  readonly secret: readonly Field[];
  readonly main: readonly Field[];
  readonly more: readonly Field[];
};

/** Returns the fields of a form; settings that are objects have no field. */
export function fieldsOf({ settings, secret }: Kind): KindFields {
  const group = (wanted: Kind['settings'][number]['group']): Field[] =>
    settings.filter((setting) => setting.group === wanted).flatMap(toField);
  return { access: group('access'), secret: secret.map(toSecret), main: group('main'), more: group('more') };
}

function toField({
  type,
  default: fallback,
  required: isRequired,
  maxLength,
  ...rest
}: Kind['settings'][number]): Field[] {
  if (type === 'object') return [];
  return [
    {
      ...rest,
      type,
      isRequired,
      maxLength: maxLength ?? undefined,
      fallback: fallback ?? undefined,
    },
  ];
}

const toSecret = ({ name, type, description, generated, optional }: Kind['secret'][number]): Field => ({
  name,
  type: type === 'json' ? 'key' : 'secret',
  options: [],
  isRequired: !generated && !optional,
  description,
});

/** Returns the fields of all settings of a kind. */
export function settingsOf(kind: Kind): readonly Field[] {
  const { access, main, more } = fieldsOf(kind);
  return [...access, ...main, ...more];
}

export type Values = Record<string, string | boolean>;

const EMPTY: Values = {};

/** The initial values of the form: those of `known` that differ from the default. */
export function initialOf(fields: readonly Field[], known: Readonly<Record<string, unknown>> = EMPTY): Values {
  return Object.fromEntries(fields.map((field) => [field.name, shown(field, known[field.name])]));
}

function shown({ type, fallback }: Field, known: unknown): string | boolean {
  if (type === 'boolean') return Boolean(known ?? fallback);
  const text = textOf(known);
  if (type === 'choice') return text || textOf(fallback);
  return type !== 'list' && text === textOf(fallback) ? '' : text;
}

/** The text of a value as a form shows it. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The values to send: empty fields are left out, or `null` (reset to the default) if they had a value `before`. */
export function filledOf(fields: readonly Field[], values: Values, before?: Values): Record<string, unknown> {
  const changed = fields.filter(({ name }) => before === undefined || before[name] !== values[name]);
  const read = changed.map((field): [string, unknown] => [field.name, readOne(field, values[field.name] ?? '')]);
  return Object.fromEntries(read.flatMap(([name, value]) => (value !== null || before ? [[name, value]] : [])));
}

/**
 * The value of a field; null if it is empty. Invalid numbers and JSON are sent unchanged, so that the server reports
 * the error.
 */
function readOne({ type, options }: Field, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value;
  const written = value.trim();
  if (written === '') return null;
  if (type === 'list') return written.split(/[\s,]+/).filter(Boolean);
  if (type === 'number') return Number.isNaN(Number(written)) ? written : Number(written);
  if (type === 'choice') return options.find((option) => String(option) === written) ?? written;
  return type === 'key' ? parse(written) : written;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
