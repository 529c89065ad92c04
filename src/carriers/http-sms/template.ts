import { splitPlaceholders } from '../../platform/lib/placeholders.ts';
import { isRecord } from '../../platform/lib/is-record.ts';

/** The value of a variable; null if it has none for this message. */
export type Value = string | number | boolean | null;

/** The variables of one request by their names. */
export type Values = Readonly<Record<string, Value>>;

/** A template that is ready to be filled; a result of undefined means that it is omitted. */
export type Fill<T> = (values: Values) => T | undefined;

/** Lists the variables in all texts of a template (a text, a list or an object), each once. */
export function variablesIn(template: unknown): string[] {
  if (typeof template === 'string') return [...new Set(namesOf(template))];
  const inner = isRecord(template) ? Object.values(template) : [];
  return [...new Set(inner.flatMap(variablesIn))];
}

const namesOf = (text: string): string[] =>
  splitPlaceholders(text, { defaults: false }).flatMap((part) => (typeof part === 'string' ? [] : [part.name]));

/**
 * Compiles a text with placeholders `{{name}}`. Values are passed through `encode`, fixed text is not. A text with a
 * variable that has no value is omitted as a whole. Values are data: braces in them are not replaced again.
 */
export function compileText(template: string, encode: (value: string) => string = (value) => value): Fill<string> {
  const parts = splitPlaceholders(template, { defaults: false }).map((part) =>
    typeof part === 'string' ? { text: part, name: null } : { text: '', name: part.name },
  );
  const [first] = parts;
  if (parts.length === 1 && first?.name === null) return () => first.text;
  return (values) => {
    let filled = '';
    for (const { text, name } of parts) {
      const value = name === null ? text : (values[name] ?? null);
      if (value === null) return undefined;
      filled += name === null ? text : encode(String(value));
    }
    return filled;
  };
}

/**
 * Compiles a tree of JSON whose texts are templates. A text that is a single placeholder has the type of its value, so
 * that numbers and booleans keep their types. Members without a value are omitted, and so are lists and objects of
 * which all members with variables are omitted.
 */
export function compileJson(template: unknown): Fill<unknown> {
  if (typeof template === 'string') return compileJsonText(template);
  if (!isRecord(template)) return () => template;
  const members = Object.entries(template).map(([name, value]) => ({
    name,
    fill: compileJson(value),
    isVariable: variablesIn(value).length > 0,
  }));
  const hasVariables = members.some(({ isVariable }) => isVariable);
  const isList = Array.isArray(template);
  return (values) => {
    const filled = members.flatMap(({ name, fill, isVariable }) => {
      const value = fill(values);
      return value === undefined ? [] : [{ name, value, isVariable }];
    });
    if (hasVariables && !filled.some(({ isVariable }) => isVariable)) return undefined;
    if (isList) return filled.map(({ value }) => value);
    return Object.fromEntries(filled.map(({ name, value }) => [name, value]));
  };
}

function compileJsonText(template: string): Fill<unknown> {
  const parts = splitPlaceholders(template, { defaults: false });
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && typeof only !== 'string')
    return (values) => values[only.name] ?? undefined;
  return compileText(template);
}

/**
 * Compiles named texts, such as the fields of a form or of a query, into pairs. A list has its name several times;
 * members without a value are omitted.
 */
export function compileFields(
  fields: Readonly<Record<string, string | readonly string[]>>,
  encode?: (value: string) => string,
): (values: Values) => (readonly [name: string, value: string])[] {
  const fills = Object.entries(fields).flatMap(([name, templates]) =>
    [templates].flat().map((template) => [name, compileText(template, encode)] as const),
  );
  return (values) =>
    fills.flatMap(([name, fill]) => {
      const value = fill(values);
      return value === undefined ? [] : [[name, value] as const];
    });
}
