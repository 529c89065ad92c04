import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalidFields } from '../../errors.ts';
import type { App } from '../app.ts';
import { findUnknownFields, MAX_UNKNOWN, type UnknownField } from './find.ts';

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
    const unknown = unknownFieldsOf(request);
    if (unknown.length > 0) return done(invalidFields(unknown.map(toFault)));
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

/**
 * Takes the fields of a form, which arrives after the hooks, so that the response names the unknown ones. Errors: 400
 * with strict handling.
 */
export function noteFormFields(request: FastifyRequest, fields: ReadonlyMap<string, string>): void {
  request.body = Object.fromEntries(fields);
  const unknown = prefersStrict(request) ? unknownFieldsOf(request) : [];
  if (unknown.length > 0) throw invalidFields(unknown.map(toFault));
}

/**
 * Returns true for a successful response, and for a 400: a missing field is often there under another name. With strict
 * handling its details name them already, and unauthenticated clients get no extra work.
 */
const hasWarnings = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  (statusCode >= 200 && statusCode <= 299) ||
  (statusCode === 400 && !prefersStrict(request) && request.routeOptions.config.stranger !== true);

const prefersStrict = ({ headers }: FastifyRequest): boolean =>
  [headers['prefer'] ?? []]
    .flat()
    .flatMap((line) => line.toLowerCase().split(/[,;]/))
    .some((preference) => /^\s*handling\s*=\s*"?strict"?\s*$/.test(preference));

function unknownFieldsOf({ body, query, routeOptions }: FastifyRequest): UnknownField[] {
  const { schema, config } = routeOptions;
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
