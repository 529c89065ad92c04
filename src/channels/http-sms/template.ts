import type { IncomingHttpHeaders } from 'node:http';
import { isRecord, splitPlaceholders } from '../../core/schema.ts';
import { parseJson } from '../settings.ts';

/** The value of a variable; null if it has none for this message. */
export type Value = string | number | boolean | null;

/** The variables of one request by their names. */
export type Values = Readonly<Record<string, Value>>;

/** A template that is ready to be filled; a result of undefined means that it is omitted. */
type Fill<T> = (values: Values) => T | undefined;

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

/** A response of a carrier or a request from it, in which places are looked up. */
export type Document = {
  /** The body as JSON, or the fields of a form; undefined when it is neither. */
  readonly json: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly query: Readonly<Record<string, unknown>>;
  readonly text: string;
};

/** Reads the text at a place; an empty text if there is none. */
export type Read = (document: Document) => string;

/** Reads the texts at a place, in their order. */
type ReadAll = (document: Document) => string[];

const MAX_LENGTH = 4000;

/**
 * Compiles a place in a document (RFC 6901 for JSON and forms):
 *
 * - `/messages/0/id` is a JSON pointer into the body, or a field of a form: `/MessageSid`;
 * - `header:location` is a header, `query:id` a parameter of the query;
 * - `text:ID: *;` is the text between `ID: ` and `;` in the body as text; without a text after the `*`, the run of
 *   characters up to the next white space. The time is linear in the length of the body, whatever it contains.
 *
 * Of several places, separated by ` | `, the first that has a text counts. Numbers and booleans are read as their
 * texts. Longer texts are cut to 4,000 characters.
 */
export function compilePlace(place: string): Read {
  const reads = place.split(' | ').map(compile);
  const [first] = reads;
  const read: Read = (document) => {
    if (first && reads.length === 1) return first(document);
    return reads.reduce((found, one) => found || one(document), '');
  };
  return (document) => read(document).slice(0, MAX_LENGTH).replaceAll('\0', '').toWellFormed();
}

/**
 * Compiles a place that may occur several times: in a JSON pointer, one step `*` stands for all members of a list, as
 * in `/messages/*` followed by `/id`. Empty texts are omitted.
 */
export function compilePlaces(place: string): ReadAll {
  const [before, behind] = place.startsWith('/') ? place.split('/*', 2) : [place];
  if (behind === undefined) {
    const read = compilePlace(place);
    return (document) => [read(document)].filter((text) => text !== '');
  }
  const [list, read] = [stepsOf(before ?? ''), compilePlace(behind === '' ? '/' : behind)];
  return (document) => {
    const items = follow(document.json, list);
    if (!Array.isArray(items)) return [];
    return items
      .map((json) => (behind === '' ? toText(json) : read({ ...document, json })))
      .filter((text) => text !== '');
  };
}

function compile(place: string): Read {
  const [, scheme = '', rest = ''] = /^(header|query|text):(.*)$/s.exec(place) ?? [];
  if (scheme === 'header') {
    const name = rest.toLowerCase();
    return ({ headers }) => [headers[name]].flat()[0] ?? '';
  }
  if (scheme === 'query') return ({ query }) => toText(query[rest]);
  if (scheme === 'text') {
    const [before = '', behind = ''] = rest.split('*', 2);
    return ({ text }) => between(text, before, behind);
  }
  const steps = stepsOf(place);
  return ({ json }) => toText(follow(json, steps));
}

/** Splits a JSON pointer; an empty one means the whole document. */
export const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Follows the steps of a JSON pointer; undefined if there is nothing. */
export function follow(json: unknown, steps: readonly string[]): unknown {
  let at = json;
  for (const step of steps) {
    if (!isRecord(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // A repeated parameter.
  return Array.isArray(value) && typeof value[0] === 'string' ? value[0] : '';
}

function between(text: string, before: string, behind: string): string {
  const start = text.indexOf(before);
  if (start < 0) return '';
  const from = start + before.length;
  const end = behind === '' ? endOfRun(text, from) : text.indexOf(behind, from);
  return end < 0 ? '' : text.slice(from, end).trim();
}

function endOfRun(text: string, from: number): number {
  const length = text.slice(from).search(/\s/);
  return length < 0 ? text.length : from + length;
}

/** Returns true if a body is a form, by its content type. */
export const isForm = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;

/** Returns an HTTP body as a document: JSON, or a form if its content type is that of a form. */
export function toDocument(
  body: Uint8Array,
  headers: IncomingHttpHeaders,
  query: Readonly<Record<string, unknown>> = {},
): Document {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  // Not parsed for places in headers and the query alone.
  let parsed: { readonly json: unknown } | undefined;
  return {
    get json() {
      return (parsed ??= { json: isForm(headers) ? formFields(text) : parseJson(text) }).json;
    },
    headers,
    query,
    text,
  };
}

/** Returns the fields of a form; the first of several with one name. */
function formFields(text: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) if (!fields.has(name)) fields.set(name, value);
  return Object.fromEntries(fields);
}
