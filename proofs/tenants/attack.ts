import type { Answer } from '../../test/support/client.ts';
import { isSchema, type Route } from '../routes.ts';
import type { Case } from './cases.ts';
import { ownThing } from './party.ts';
import { CHOSEN_THINGS, MAKERS, type Party, type Thing, type ThingName } from './things.ts';

/** What stands in each of the id fields of a request. */
type Values = Readonly<Record<string, Thing | readonly Thing[]>>;

/** A request. */
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The body goes as a form, its field `file` as a file of this name. */
  readonly form: string | undefined;
};

/** The request of a case, with these things in its id fields. */
export function requestOf(route: Route, { ids = {}, query, body, form }: Case, party: Party, values: Values): Sent {
  let path = route.url;
  const search = new URLSearchParams(query?.(party));
  const headers: Record<string, string> = {};
  const document: unknown = structuredClone(body?.(party) ?? (hasBody(ids) ? {} : undefined));
  for (const [field, value] of Object.entries(values)) {
    const [part = '', ...keys] = field.replace('[]', '').split('.');
    if (part === 'path') path = path.replace(`:${keys[0]}`, encodeURIComponent(String(value)));
    else if (part === 'query') search.set(keys.join('.'), String(value));
    else if (part === 'header') headers[keys.join('.')] = String(value);
    else setAt(document, keys, value);
  }
  return { method: route.method, path: search.size > 0 ? `${path}?${search}` : path, headers, body: document, form };
}

const hasBody = (ids: NonNullable<Case['ids']>): boolean => Object.keys(ids).some((field) => field.startsWith('body.'));

/** `keys` lead through objects and lists; what is missing on the way is made. */
function setAt(document: unknown, keys: readonly string[], value: unknown): void {
  const [key = '', ...rest] = keys;
  if (typeof document !== 'object' || document === null) throw new Error(`nothing to put ${key} into`);
  if (rest.length === 0) return void Reflect.set(document, key, value);
  if (Reflect.get(document, key) === undefined) Reflect.set(document, key, /^\d+$/.test(rest[0] ?? '') ? [] : {});
  setAt(Reflect.get(document, key), rest, value);
}

export function send({ client }: Party, sent: Sent): Promise<Answer> {
  const { method, path, headers, body } = wireOf(sent);
  return client.request(method, path, { ...(body === undefined ? {} : { body }), headers });
}

/** A request as it goes out: a text body goes as it is, a form in parts, anything else as JSON. */
export function wireOf({ method, path, headers, body, form }: Sent) {
  if (form !== undefined && isSchema(body))
    return {
      method,
      path,
      headers: { ...headers, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      body: formOf(body, form),
    };
  if (body === undefined) return { method, path, headers, body };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method, path, headers: { 'content-type': 'application/json', ...headers }, body: text };
}

const BOUNDARY = 'a-part-ends-here';

function formOf(fields: object, fileName: string): string {
  // The file last: what stands behind it may not be read before it.
  const inOrder = Object.entries(fields).toSorted(([a], [b]) => Number(a === 'file') - Number(b === 'file'));
  const parts = inOrder.map(([name, value]) => {
    const file = name === 'file' ? `; filename="${fileName}"\r\nContent-Type: application/octet-stream` : '';
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
}

/** Own things in all fields, made for this request, since it may end them; no id that a client takes into use. */
export async function freshThings(by: Party, { ids = {} }: Case): Promise<Record<string, Thing>> {
  const values: Record<string, Thing> = {};
  for (const [field, name] of Object.entries(ids))
    if (!CHOSEN_THINGS.has(name)) values[field] = await MAKERS[name].make(by);
  return values;
}

/** A right request with own things: whether the answer is what a right request gets. If not, the case proves nothing. */
export async function worksWithOwn(route: Route, tried: Case, by: Party): Promise<string | undefined> {
  const answer = await send(by, requestOf(route, tried, by, await freshThings(by, tried)));
  const wanted = tried.operatorsOnly ? answer.status === 403 : answer.status < 300;
  if (wanted || tried.answers?.includes(answer.status)) return undefined;
  return `${route.name} with own things answered ${answer.status}: ${JSON.stringify(answer.body)}`;
}

/** One attempt of `by` on `on`: the request as it was sent, and what came back. */
export type Attempt = { readonly what: string; readonly sent: Sent; readonly answer: Answer; readonly fault?: string };

/**
 * Every way in which `by` may reach for what is `on`'s by this route: a foreign thing in each id field, whose answer must
 * be that to an unknown one; a list with a foreign thing among own ones; its account named in the request; its words as
 * filters.
 */
export async function* attempts(route: Route, tried: Case, by: Party, on: Party): AsyncGenerator<Attempt> {
  const own = Object.fromEntries(Object.entries(tried.ids ?? {}).map(([field, name]) => [field, ownThing(by, name)]));
  const trial = { route, tried, by, own };
  for (const [field, name] of Object.entries(tried.ids ?? {})) {
    const [foreign, unknown, mine] = [ownThing(on, name), MAKERS[name].unknown(), ownThing(by, name)];
    yield await compare(trial, field, foreign, unknown);
    if (field.endsWith('[]')) yield await compare(trial, field, [mine, foreign], [mine, unknown]);
  }
  const spared = sparing(tried, own);
  const reaching = withAccountOf(requestOf(route, tried, by, spared), on);
  yield { what: `${route.name} naming the account`, sent: reaching, answer: await send(by, reaching) };
  for (const filter of textFilters(route)) {
    const sent = requestOf(route, tried, by, { ...spared, [`query.${filter}`]: on.token });
    yield { what: `${route.name} filtered by ${filter}`, sent, answer: await send(by, sent) };
  }
}

/** What is tried again and again should not use up own things: unknown ones where a route acts on what it names. */
function sparing({ ids = {} }: Case, own: Values): Values {
  return Object.fromEntries(
    Object.entries(own).map(([field, thing]) => {
      const name: ThingName | undefined = ids[field];
      return [field, /^(path|header)\./.test(field) && name ? MAKERS[name].unknown() : thing];
    }),
  );
}

type Trial = { readonly route: Route; readonly tried: Case; readonly by: Party; readonly own: Values };

async function compare(
  trial: Trial,
  field: string,
  foreign: Thing | Thing[],
  unknown: Thing | Thing[],
): Promise<Attempt> {
  const { route, tried, by, own } = trial;
  const toUnknown = await send(by, requestOf(route, tried, by, { ...own, [field]: unknown }));
  const sent = requestOf(route, tried, by, { ...own, [field]: foreign });
  const answer = await send(by, sent);
  const [a, b] = [faceOf(answer, foreign), faceOf(toUnknown, unknown)];
  const what = `${route.name} ${field}`;
  if (a === b) return { what, sent, answer };
  return { what, sent, answer, fault: `${what}: a foreign id answers ${a}, an unknown one ${b}` };
}

/** An answer or a row without what differs from one request to the next: fresh ids, times, durations, secrets. */
export const withoutChance = (text: string): string =>
  text
    .replace(UUIDS, '<uuid>')
    .replace(TIMES, '<time>')
    .replace(NUMBERS, '<number>')
    .replace(SECRETS, '<secret>')
    .replace(/"durationMs": ?\d+/g, '"durationMs":0');

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIMES = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/g;
/** Numeric ids of rows that the request made. */
const NUMBERS = /\b[5-9]\d{9}\b/g;
/** Keys with their beginning, secrets of webhooks, states of connections, octets of hashes and of what is sealed. */
const SECRETS = /pg_live_[\w-]+|whsec_[\w+/=]+|\$argon2id\$[^"]+|\\+x[0-9a-f]{16,}|state=[\w-]{43}/g;

/** An answer without what differs from request to request: the things named, fresh ids, times, durations, keys. */
function faceOf({ status, body }: Answer, named: Thing | readonly Thing[]): string {
  let text = JSON.stringify(body) ?? '';
  for (const thing of [named].flat()) text = text.replaceAll(JSON.stringify(String(thing)).slice(1, -1), '<thing>');
  return `${status} ${withoutChance(text)}`;
}

/** The account's id where a careless server might read it: query, body, headers of the kind that proxies set. */
function withAccountOf({ path, body, ...sent }: Sent, { accountId }: Party): Sent {
  const more = `${path.includes('?') ? '&' : '?'}accountId=${accountId}&account_id=${accountId}&userId=${accountId}`;
  const object = isSchema(body) ? { ...body, accountId, account_id: accountId, userId: accountId } : body;
  return { ...sent, path: path + more, body: object };
}

/** Query fields that take any text. */
function textFilters({ query }: Route): string[] {
  const fields = isSchema(query) && isSchema(query['properties']) ? query['properties'] : {};
  return Object.entries(fields).flatMap(([name, field]) =>
    isSchema(field) && field['type'] === 'string' && !field['enum'] && !field['format'] && !field['pattern']
      ? [name]
      : [],
  );
}
