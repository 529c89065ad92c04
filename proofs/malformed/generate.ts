import { oneOf, type RandomSource } from '../lib/proof.ts';
import { isSchema, type Route, type Schema } from '../lib/routes.ts';
import { corruptOnePart, corruptParts, fittingValue, hostileValue, TEXTS } from './hostile.ts';

/** One request as it is sent. */
export type Wire = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
};

/** The possible shares of a request's parts that are corrupted. */
const CORRUPTED_SHARES = [0, 0.02, 0.1, 0.5];
const CONTENT_TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'application/json;',
  'json',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '\u00ff/\u00ff',
];

/**
 * Returns a request to this route, made from its schemas or from `served`, a valid one: valid, or corrupted in any part.
 */
export function generate(chance: RandomSource, route: Route, right: Wire | undefined): Wire {
  const share = oneOf(chance, CORRUPTED_SHARES);
  const base = right !== undefined && chance.random.chance(0.5) ? right : fromSchemas(chance, route);
  const isForm = base.headers['content-type']?.startsWith('multipart/') === true;
  const corrupt = isForm ? corruptForm : corruptBody;
  const body = base.body === undefined ? undefined : corrupt(chance, base.body, share);
  return {
    method: chance.random.chance(share / 10)
      ? oneOf(chance, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
      : base.method,
    path: corruptPath(chance, base.path, share),
    headers: {
      ...headersFor(chance, body, share),
      ...(isForm && !chance.random.chance(share / 4) ? base.headers : {}),
    },
    body,
  };
}

function fromSchemas(chance: RandomSource, { method, url, params, query, body }: Route): Wire {
  const path = url.replace(/:(\w+)/g, (_, name: string) => {
    const value = fittingValue(chance, propertyOf(params, name));
    return encodeURIComponent(String(value).toWellFormed()) || '1';
  });
  const fields = isSchema(query?.['properties']) ? query['properties'] : {};
  const search = new URLSearchParams();
  for (const [name, schema] of Object.entries(fields))
    if (isSchema(schema) && chance.random.chance(0.4)) search.append(name, String(fittingValue(chance, schema)));
  return {
    method,
    path: search.size > 0 ? `${path}?${search}` : path,
    headers: {},
    body: body && JSON.stringify(fittingValue(chance, body)),
  };
}

function propertyOf(schema: Schema | undefined, name: string): Schema {
  const properties = schema?.['properties'];
  const property = isSchema(properties) ? properties[name] : undefined;
  return isSchema(property) ? property : { type: 'string' };
}

function corruptPath(chance: RandomSource, path: string, share: number): string {
  const [place = '', search = ''] = path.split('?');
  // It begins with a slash: anything else is for raw sockets.
  const segments = place
    .split('/')
    .map((segment, i) => (i > 0 && chance.random.chance(share / 4) ? anyText(chance) : segment));
  const fields = [...new URLSearchParams(search)].map(([name, value]) => [
    name,
    chance.random.chance(share) ? anyText(chance) : encodeURIComponent(value),
  ]);
  if (chance.random.chance(share / 2)) fields.push([anyText(chance), anyText(chance)]);
  if (chance.random.chance(share / 2) && fields[0]) fields.push([fields[0][0] ?? '', anyText(chance)]);
  const query = fields.map((pair) => pair.join('=')).join('&');
  return segments.join('/') + (query === '' ? '' : `?${query}`);
}

/** A text that is escaped, or as it is where a request line can hold it. */
function anyText(chance: RandomSource): string {
  const text = oneOf(chance, TEXTS).slice(0, 8000);
  if (/^[\x21-\x7e]*$/.test(text) && !/[?#\\]/.test(text) && chance.random.chance(0.5)) return text;
  return encodeURIComponent(text.toWellFormed());
}

function corruptBody(chance: RandomSource, body: string, share: number): string {
  const document: unknown = JSON.parse(body);
  const once = share > 0 && chance.random.chance(0.6);
  const text =
    JSON.stringify(once ? corruptOnePart(chance, document) : corruptParts(chance, document, share)) ?? 'null';
  if (!chance.random.chance(share / 5)) return text;
  const cuts: readonly (() => string)[] = [
    () => text.slice(0, Math.floor(text.length * chance.random.next())),
    () => `${text}${text}`,
    () => text.replaceAll('"', "'"),
    () => text.replace('{', '{"__proto__":{"admin":true},'),
    () => text.replace('{', '{"constructor":{"prototype":{}},'),
    () => text.replace(/:/, ':01'),
    () => `\ufeff${text}`,
    () => '['.repeat(50_000),
    () => `[${'1e999,'.repeat(1000)}1]`,
    () => '"\\ud800"',
    () => JSON.stringify(hostileValue(chance)),
  ];
  return oneOf(chance, cuts)();
}

/** Puts something hostile anywhere into the text of a form: a name, a value, or a boundary. */
function corruptForm(chance: RandomSource, body: string, share: number): string {
  if (!chance.random.chance(share * 2)) return body;
  const at = Math.floor(chance.random.next() * body.length);
  const until = chance.random.chance(0.5) ? at : Math.min(body.length, at + Math.floor(chance.random.next() * 40));
  const forms: readonly (() => string)[] = [
    () => body.slice(0, at),
    () => body + body,
    () => body.slice(0, at) + oneOf(chance, TEXTS).toWellFormed() + body.slice(until),
    () => body.replaceAll('\r\n', '\n'),
    () => body.replace('form-data', oneOf(chance, TEXTS).toWellFormed()),
  ];
  return oneOf(chance, forms)();
}

function headersFor(chance: RandomSource, body: string | undefined, share: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (body !== undefined && chance.random.chance(share / 4)) headers['content-type'] = oneOf(chance, CONTENT_TYPES);
  if (chance.random.chance(share / 4)) headers['idempotency-key'] = headerText(chance);
  if (chance.random.chance(share / 4)) headers['x-request-id'] = headerText(chance);
  if (chance.random.chance(share / 8)) headers['authorization'] = `Basic ${headerText(chance)}`;
  if (chance.random.chance(share / 8)) headers['x-api-key'] = headerText(chance);
  return headers;
}

/** A text with the characters that the HTTP client allows in a header; the rest is for raw sockets. */
const headerText = (chance: RandomSource): string =>
  oneOf(chance, TEXTS)
    .slice(0, 4000)
    .replace(/[^\x20-\x7e]/g, '?')
    .trim() || 'x';
