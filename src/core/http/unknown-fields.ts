import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type FieldError, invalidFields } from '../errors.ts';
import { isRecord } from '../schema.ts';
import { type App, optionsOf } from './app.ts';

/**
 * A field of a request that its schema does not have: its path, as `messages[0].sendr`, and the name that was probably
 * meant.
 */
type UnknownField = { readonly field: string; readonly nearest: string | null };

/** Maximum number of unknown fields named; the rest of the document is not searched. */
export const MAX_UNKNOWN = 20;
/** Maximum length of a name in a warning; longer names are cut. */
const MAX_NAME_LENGTH = 64;

/** Rules of a schema for names of fields. `any`: it accepts all names, or is not an object. */
type Shape =
  | { readonly kind: 'any' }
  | { readonly kind: 'list'; readonly items: Shape }
  | { readonly kind: 'union'; readonly branches: readonly Shape[] }
  | ObjectShape;
type ObjectShape = {
  readonly kind: 'object';
  readonly fields: ReadonlyMap<string, Shape>;
  readonly names: readonly string[];
  /** True if names that are not among its fields are accepted. */
  readonly isOpen: boolean;
  readonly required: readonly string[];
  /** Fields that have one of a few values, by which the branches of a union differ, and those that must be absent. */
  readonly values: ReadonlyMap<string, ReadonlySet<unknown>>;
};

type Path = (string | number)[];

const ANY: Shape = { kind: 'any' };
const known = new WeakMap<object, Shape>();

/**
 * Finds the fields of a document that its schema does not have, in nested objects, lists and unions too; of a union, in
 * the branch that fits best. Takes time in proportion to its size: 2 ms for a bulk request of
 * 10,000 messages.
 */
export function findUnknownFields(schema: unknown, document: unknown): UnknownField[] {
  const found: UnknownField[] = [];
  if (!isRecord(schema)) return found;
  const shape = known.get(schema) ?? shapeOf(schema);
  known.set(schema, shape);
  search(shape, document, [], found);
  return found;
}

function shapeOf(schema: unknown): Shape {
  if (!isRecord(schema)) return ANY;
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches)) return unionOf(branches.filter(hasFields).map(shapeOf));
  if (isRecord(schema['items']) && !Array.isArray(schema['items'])) {
    const items = shapeOf(schema['items']);
    return items.kind === 'any' ? ANY : { kind: 'list', items };
  }
  return isRecord(schema['properties']) ? objectOf(schema, schema['properties']) : ANY;
}

/** Texts, numbers and null have no fields. A schema without a type accepts anything. */
const hasFields = (schema: unknown): boolean =>
  !isRecord(schema) ||
  !(['string', 'number', 'integer', 'boolean', 'null'].includes(String(schema['type'])) || 'const' in schema);

function unionOf(branches: readonly Shape[]): Shape {
  const [only] = branches;
  if (only === undefined || branches.some(({ kind }) => kind === 'any')) return ANY;
  return branches.length === 1 ? only : { kind: 'union', branches };
}

function objectOf(schema: Record<string, unknown>, properties: Record<string, unknown>): ObjectShape {
  const { additionalProperties, patternProperties, required } = schema;
  const entries = Object.entries(properties);
  return {
    kind: 'object',
    fields: new Map(entries.map(([name, property]) => [name, shapeOf(property)])),
    names: entries.flatMap(([name, property]) => (isNever(property) ? [] : [name])),
    isOpen: patternProperties !== undefined || (additionalProperties !== undefined && additionalProperties !== false),
    required: Array.isArray(required) ? required.map(String) : [],
    values: new Map(entries.flatMap(([name, property]) => valuesOf(name, property))),
  };
}

const isNever = (property: unknown): boolean => isRecord(property) && isRecord(property['not']);

function valuesOf(name: string, property: unknown): [string, ReadonlySet<unknown>][] {
  if (!isRecord(property)) return [];
  if (isNever(property)) return [[name, new Set([undefined])]];
  if ('const' in property) return [[name, new Set([property['const']])]];
  return Array.isArray(property['enum']) ? [[name, new Set(property['enum'])]] : [];
}

function search(shape: Shape, value: unknown, path: Path, found: UnknownField[]): void {
  if (found.length >= MAX_UNKNOWN || !isRecord(value)) return;
  if (shape.kind === 'union') searchUnion(shape.branches, value, path, found);
  else if (shape.kind === 'list') searchList(shape.items, value, path, found);
  else if (shape.kind === 'object' && !Array.isArray(value)) searchObject(shape, value, path, found);
}

function searchList(items: Shape, value: unknown, path: Path, found: UnknownField[]): void {
  if (!Array.isArray(value)) return;
  for (let i = 0; i < value.length && found.length < MAX_UNKNOWN; i++) {
    path.push(i);
    search(items, value[i], path, found);
    path.pop();
  }
}

function searchObject(shape: ObjectShape, value: Record<string, unknown>, path: Path, found: UnknownField[]): void {
  for (const name in value) {
    if (found.length >= MAX_UNKNOWN) return;
    const field = shape.fields.get(name);
    if (field === undefined) {
      if (!shape.isOpen) found.push({ field: pathOf(path, name), nearest: nearestName(name, shape.names) });
    } else if (field.kind !== 'any') {
      path.push(name);
      search(field, value[name], path, found);
      path.pop();
    }
  }
}

/** Keeps the unknown fields of the branch that knows most, among those that the value can belong to. */
function searchUnion(
  branches: readonly Shape[],
  value: Record<string, unknown>,
  path: Path,
  found: UnknownField[],
): void {
  const fitting = branches.filter((branch) => fits(branch, value));
  let fewest: UnknownField[] | undefined;
  for (const branch of fitting.length > 0 ? fitting : branches) {
    const inBranch: UnknownField[] = [];
    search(branch, value, path, inBranch);
    if (fewest === undefined || inBranch.length < fewest.length) fewest = inBranch;
  }
  found.push(...(fewest ?? []).slice(0, MAX_UNKNOWN - found.length));
}

function fits(shape: Shape, value: Record<string, unknown>): boolean {
  if (shape.kind !== 'object') return (shape.kind === 'list') === Array.isArray(value);
  if (Array.isArray(value) || shape.required.some((name) => value[name] === undefined)) return false;
  for (const [name, values] of shape.values) {
    const isAbsent = value[name] === undefined;
    if (isAbsent ? !values.has(undefined) && shape.required.includes(name) : !values.has(value[name])) return false;
  }
  return true;
}

const pathOf = (path: Path, name: string): string =>
  [...path, shortened(name)]
    .map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`))
    .join('');

const shortened = (name: string): string =>
  name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…` : name;

/**
 * Maximum length of a compared name: longer ones are not typing errors, and comparing them would cost more than it is
 * worth.
 */
const MAX_LENGTH = 64;

/**
 * Returns the known name that was most likely meant, or null: the same name in another case, or the one that the fewest
 * typing errors (a character added, omitted, replaced, or two exchanged) turn into it, at most one for every three
 * characters.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > MAX_LENGTH) return null;
  const wanted = name.toLowerCase();
  let nearest: string | null = null;
  let fewest = Math.floor(name.length / 3) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const slips = slipsBetween(wanted, candidate.toLowerCase());
    if (slips < fewest) [nearest, fewest] = [candidate, slips];
  }
  return nearest;
}

/** The edit distance of two texts in which two exchanged neighbours count once (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const least = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isExchange ? Math.min(least, at(before, j - 2) + 1) : least);
    }
    [before, last] = [last, row];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0;

declare module 'fastify' {
  interface FastifyRequest {
    /** Entries that the handler adds to the `warnings` of its response. */
    warnings: readonly string[] | null;
  }
}

const METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Warns clients about fields of bodies and query parameters that nothing reads: a typing error in an optional field
 * would otherwise go unnoticed. The response to a POST, PUT or PATCH names them in `warnings`, or in the header
 * X-Warnings if it is not an object; so does a 400. With `Prefer: handling=strict` (RFC 7240) they are a 400. Handlers
 * add their own warnings by setting `request.warnings`.
 */
export function warnOfUnknownFields(app: App): void {
  app.decorateRequest('warnings', null);
  app.addHook('preHandler', (request, reply, done) => {
    if (!METHODS.has(request.method) || !prefersStrict(request)) return done();
    if (unknownFieldsOf(request).length > 0) return void faultsBesideUnknown(request).then(done, done);
    reply.header('preference-applied', 'handling=strict');
    done();
  });
  // On sending, so that the response to a repeated request has them as well.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!METHODS.has(request.method) || !hasWarnings(request, reply)) return done(null, payload);
    const warnings = [...unknownFieldsOf(request).map(toWarning), ...(request.warnings ?? [])];
    done(null, warnings.length > 0 ? withWarnings(reply, payload, warnings) : payload);
  });
}

/** Returns the error for a request with unknown fields: the handler, which would find the other errors, does not run. */
async function faultsBesideUnknown(request: FastifyRequest): Promise<AppError> {
  const { unauthenticated, moreFaults } = request.routeOptions.config;
  const more = unauthenticated ? [] : ((await moreFaults?.(request, [])) ?? []);
  return invalidFields([...more, ...strictFaults(request)]);
}

/** Returns the unknown fields of a request with strict handling as errors; an error names every one. */
export const strictFaults = (request: FastifyRequest): FieldError[] =>
  METHODS.has(request.method) && prefersStrict(request) ? unknownFieldsOf(request).map(toFault) : [];

/**
 * Takes the fields of a form, which arrives after the hooks, so that the response names the unknown ones, and reads
 * them. Errors: 400, with strict handling naming the unknown ones next to those that `read` throws.
 */
export function readFormFields<T>(request: FastifyRequest, fields: ReadonlyMap<string, string>, read: () => T): T {
  request.body = Object.fromEntries(fields);
  const unknown = strictFaults(request);
  try {
    const settings = read();
    if (unknown.length === 0) return settings;
  } catch (error) {
    if (unknown.length === 0 || !(error instanceof AppError) || error.code !== 'invalid') throw error;
    throw invalidFields([...(error.details ?? []), ...unknown]);
  }
  throw invalidFields(unknown);
}

/**
 * Returns true for a successful response, and for a 400: a missing field is often there under another name. With strict
 * handling its details name them already, and unauthenticated clients get no extra work.
 */
const hasWarnings = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  (statusCode >= 200 && statusCode <= 299) ||
  (statusCode === 400 && !prefersStrict(request) && request.routeOptions.config.unauthenticated !== true);

const prefersStrict = ({ headers }: FastifyRequest): boolean =>
  [headers['prefer'] ?? []]
    .flat()
    .flatMap((line) => line.toLowerCase().split(/[,;]/))
    .some((preference) => /^\s*handling\s*=\s*"?strict"?\s*$/.test(preference));

function unknownFieldsOf(request: FastifyRequest): UnknownField[] {
  const { body, query } = request;
  const { schema, config } = optionsOf(request);
  if (schema === undefined) return [];
  const inQuery = findUnknownFields(schema.querystring ?? NOTHING, query);
  // Carriers post to routes without credentials, in their own forms.
  const known = schema.body ?? config.form ?? (schema.security?.length === 0 ? undefined : NOTHING);
  return [...inQuery, ...findUnknownFields(known, body)].slice(0, MAX_UNKNOWN);
}

const NOTHING = { type: 'object', properties: {} };

const hint = ({ nearest }: UnknownField): string => (nearest === null ? '' : `: did you mean ${nearest}?`);
const toWarning = (unknown: UnknownField): string => `unknown field ${unknown.field}${hint(unknown)}`;
const toFault = (unknown: UnknownField) => ({ field: unknown.field, message: `is unknown${hint(unknown)}` });

function withWarnings(reply: FastifyReply, payload: unknown, warnings: readonly string[]): unknown {
  if (isJsonObject(reply, payload)) {
    const field = `"warnings":${JSON.stringify(warnings)}}`;
    const [end, separator] = [payload.length - 1, payload.length > 2 ? ',' : ''];
    return typeof payload === 'string'
      ? payload.slice(0, end) + separator + field
      : Buffer.concat([payload.subarray(0, end), Buffer.from(separator + field)]);
  }
  if (!reply.raw.headersSent) reply.header('x-warnings', warnings.map(forHeader).join('; '));
  return payload;
}

const OPEN_BRACE = '{'.charCodeAt(0);

function isJsonObject(reply: FastifyReply, payload: unknown): payload is string | Buffer {
  if (!String(reply.getHeader('content-type')).startsWith('application/json')) return false;
  return Buffer.isBuffer(payload) ? payload[0] === OPEN_BRACE : typeof payload === 'string' && payload.startsWith('{');
}

/** A header holds printable ASCII only. */
const forHeader = (warning: string): string => warning.replace(/[^\x20-\x7e]/g, '?');
