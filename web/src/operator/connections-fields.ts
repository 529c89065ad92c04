import { queryOptions, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useFormat } from '../ui/format.ts';
import { useServerText } from './shared.tsx';

/** A setting or a field of the secret in a form; `useFieldTexts` returns its texts. */
export type Field = {
  readonly name: string;
  /** `list`: texts with commas or spaces between them; `object`: a JSON object; `key`: the text of a JSON file. */
  readonly type: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'object' | 'secret' | 'key';
  readonly options: readonly (string | number)[];
  /** Value that applies when the field is empty; undefined when there is none. */
  readonly fallback?: unknown;
  readonly isRequired: boolean;
  readonly maxLength?: number | undefined;
  readonly description: string;
};

/** The fields of a form for one kind of connections, in the order in which it asks for them. */
type KindFields = {
  readonly access: readonly Field[];
  readonly secret: readonly Field[];
  readonly main: readonly Field[];
  readonly more: readonly Field[];
};

/** Returns the fields of a form. */
export function fieldsOf({ settings, secret }: Kind): KindFields {
  const group = (wanted: Kind['settings'][number]['group']): Field[] =>
    settings.filter((setting) => setting.group === wanted).map(toField);
  return { access: group('access'), secret: secret.map(toSecret), main: group('main'), more: group('more') };
}

const toField = ({ default: fallback, required: isRequired, maxLength, ...rest }: Kind['settings'][number]): Field => ({
  ...rest,
  isRequired,
  maxLength: maxLength ?? undefined,
  fallback: fallback ?? undefined,
});

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
  if (typeof value === 'object' && value !== null) return JSON.stringify(sorted(value), null, 2);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Sorts the members of objects: the database orders them differently from the default. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

/** The values to send: empty fields are omitted, or `null` (reset to the default) if they had a value `before`. */
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
  return type === 'key' || type === 'object' ? parse(written) : written;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

type Errors = Readonly<Record<string, unknown>>;

/** The errors of a field and of the members of an object, which the server names by their path; empty if there are none. */
export function errorsOf(errors: Errors, path: string): string {
  const inside = `${path}.`;
  const texts = Object.entries(errors).flatMap(([field, text]) => {
    if (field === path) return [String(text)];
    return field.startsWith(inside) ? [`${field.slice(inside.length)}: ${String(text)}`] : [];
  });
  return texts.join('; ');
}

/** Returns a function that formats the value of a setting. */
export function useSettingText() {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const format = useFormat();
  return ({ name, type }: Field, value: unknown): string => {
    if (type === 'boolean') return t(value === true ? 'yes' : 'no');
    if (type === 'choice') return serverText(`settingOption.${name}.${String(value)}`, String(value));
    if (Array.isArray(value)) return value.join(', ');
    // Indented, since a long value can wrap at the blanks.
    if (type === 'object') return JSON.stringify(value, null, 1);
    return typeof value === 'number' && name !== 'port' ? format.number(value) : String(value);
  };
}

/** Returns a function that finds the label and the hint of a field: our own texts, or else those of the server. */
export function useFieldTexts() {
  const serverText = useServerText();
  return ({ kind }: Kind, { name, description }: Field) => ({
    label: serverText(`setting.${kind}.${name}`, name),
    description: serverText(`settingHint.${kind}.${name}`, description),
  });
}

/** The kinds of connections with their settings: they change only with a new version of the server. */
export const kindsQuery = queryOptions({
  queryKey: ['operator', 'connection-kinds'],
  queryFn: ({ signal }) => ok(api.GET('/api/operator/v1/connection-kinds', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A kind of connections: the fields of its form, and the routing of its messages. */
export type Kind = Awaited<ReturnType<NonNullable<typeof kindsQuery.queryFn>>>['data'][number];
export type KindName = Kind['kind'];

/** Returns the kind of a connection; undefined until the kinds are loaded. */
export function useKind({ kind: name }: { readonly kind: KindName }): Kind | undefined {
  return useQuery(kindsQuery).data?.data.find(({ kind }) => kind === name);
}
