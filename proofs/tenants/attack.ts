import type { Answer } from '../../test/support/client.ts';
import { isSchema, type Route } from '../lib/routes.ts';
import type { Case } from './case.ts';
import { ownThing } from './party.ts';
import { CHOSEN_THINGS, MAKERS, type Party, type Thing, type ThingName } from './things.ts';

/** The values of a request's id fields, by field. */
type Values = Readonly<Record<string, Thing | readonly Thing[]>>;

/** A request before it is encoded. */
export type CaseRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** If set, the body is sent as a form, with its field `file` as a file of this name. */
  readonly form: string | undefined;
};

/** Returns the request of a case with these values in its id fields. */
export function requestOf(
  route: Route,
  { ids = {}, query, body, form, sign }: Case,
  party: Party,
  values: Values,
): CaseRequest {
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
  const request = { method: route.method, path: search.size > 0 ? `${path}?${search}` : path, form };
  if (!sign) return { ...request, headers, body: document };
  const text = JSON.stringify(document);
  return { ...request, headers: { ...headers, ...sign(party, text) }, body: text };
}

const hasBody = (ids: NonNullable<Case['ids']>): boolean => Object.keys(ids).some((field) => field.startsWith('body.'));

/** Sets a value in the document. `keys` lead through objects and lists; missing ones are created. */
function setAt(document: unknown, keys: readonly string[], value: unknown): void {
  const [key = '', ...rest] = keys;
  if (typeof document !== 'object' || document === null) throw new Error(`no object to set ${key} in`);
  if (rest.length === 0) return void Reflect.set(document, key, value);
  if (Reflect.get(document, key) === undefined) Reflect.set(document, key, /^\d+$/.test(rest[0] ?? '') ? [] : {});
  setAt(Reflect.get(document, key), rest, value);
}

function send({ client }: Party, sent: CaseRequest): Promise<Answer> {
  const { method, path, headers, body } = wireOf(sent);
  return client.request(method, path, { ...(body === undefined ? {} : { body }), headers });
}

/** Encodes a request: a text body as it is, a form in parts, anything else as JSON. */
export function wireOf({ method, path, headers, body, form }: CaseRequest) {
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
  // The file comes last: fields after it may not be read before it.
  const inOrder = Object.entries(fields).toSorted(([a], [b]) => Number(a === 'file') - Number(b === 'file'));
  const parts = inOrder.map(([name, value]) => {
    const file = name === 'file' ? `; filename="${fileName}"\r\nContent-Type: application/octet-stream` : '';
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
}

/**
 * Makes own things for all id fields of one request, which may delete them; a later one may belong to an earlier one. Ids that
 * a client chooses are left out.
 */
export async function freshThings(by: Party, { ids = {} }: Case): Promise<Record<string, Thing>> {
  const values: Record<string, Thing> = {};
  const things = new Map(by.things);
  for (const [field, name] of Object.entries(ids)) {
    if (CHOSEN_THINGS.has(name)) continue;
    const made = await MAKERS[name].make({ ...by, things });
    values[field] = made;
    things.set(name, made);
  }
  return values;
}

/**
 * Sends a valid request with own things; returns what is wrong with its response, if anything. Such a case would prove
 * nothing.
 */
export async function worksWithOwn(route: Route, tried: Case, by: Party): Promise<string | undefined> {
  const answer = await send(by, requestOf(route, tried, by, await freshThings(by, tried)));
  const wanted = tried.operatorsOnly ? answer.status === 403 : answer.status < 300;
  if (wanted || tried.answers?.includes(answer.status)) return undefined;
  return `${route.name} with own things returned ${answer.status}: ${JSON.stringify(answer.body)}`;
}

/** One attempt: the request as it was sent, and the response to it. */
export type Attempt = {
  readonly what: string;
  readonly sent: CaseRequest;
  readonly answer: Answer;
  readonly fault?: string;
};

/**
 * Yields every way in which `by` may reach for things of `victim` by this route: a foreign thing in each id field, whose
 * response must be that to an unknown one; a list with a foreign thing among own ones; the other account's id anywhere in
 * the request; its token as a filter.
 */
export async function* attempts(route: Route, tried: Case, by: Party, on: Party): AsyncGenerator<Attempt> {
  const own = Object.fromEntries(Object.entries(tried.ids ?? {}).map(([field, name]) => [field, ownThing(by, name)]));
  const trial = { route, tried, by, own };
  for (const [field, name] of Object.entries(tried.ids ?? {})) {
    const [foreign, unknown, mine] = [ownThing(on, name), MAKERS[name].unknown(), ownThing(by, name)];
    yield await compare(trial, field, foreign, unknown);
    if (field.endsWith('[]')) yield await compare(trial, field, [mine, foreign], [mine, unknown]);
  }
  const reusable = reusableValues(tried, own);
  const naming = withAccountOf(requestOf(route, tried, by, reusable), on);
  yield { what: `${route.name} naming the account`, sent: naming, answer: await send(by, naming) };
  for (const filter of textFilters(route)) {
    const sent = requestOf(route, tried, by, { ...reusable, [`query.${filter}`]: on.token });
    yield { what: `${route.name} filtered by ${filter}`, sent, answer: await send(by, sent) };
  }
}

/**
 * Values for requests that are repeated: unknown ids where a route acts on them, so that own things are not used up.
 */
function reusableValues({ ids = {} }: Case, own: Values): Values {
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
  const [a, b] = [normalized(answer, foreign), normalized(toUnknown, unknown)];
  const what = `${route.name} ${field}`;
  if (a === b) return { what, sent, answer };
  return { what, sent, answer, fault: `a foreign id returns ${a}, an unknown one ${b}` };
}

/** Removes what differs between requests from a response or a row: new ids, times, durations, secrets. */
const withoutVariables = (text: string): string =>
  text
    .replace(UUIDS, '<uuid>')
    .replace(TIMES, '<time>')
    .replace(NUMBERS, '<number>')
    .replace(SECRETS, '<secret>')
    .replace(CREDENTIALS, '"$1":"<chosen>"')
    .replace(/"durationMs": ?\d+/g, '"durationMs":0');

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIMES = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/g;
/** Numeric ids of rows that the request created. */
const NUMBERS = /\b[5-9]\d{9}\b/g;
/** API keys, webhook secrets, states of connections, tokens of links, and bytes of hashes and encrypted values. */
const SECRETS = /pg_live_[\w-]+|whsec_[\w+/=]+|\$argon2id\$[^"]+|\\+x[0-9a-f]{16,}|state=[\w-]{43}|#[\w-]{43}/g;
/** The system id and the password of a new credential for SMPP. */
const CREDENTIALS = /"(systemId|system_id|password)": ?"\w{8,12}"/g;

/** The response as text, without what differs between requests: the ids in it, new ids, times, durations, keys. */
function normalized({ status, body }: Answer, named: Thing | readonly Thing[]): string {
  let text = JSON.stringify(body) ?? '';
  for (const thing of [named].flat()) text = text.replaceAll(JSON.stringify(String(thing)).slice(1, -1), '<thing>');
  return `${status} ${withoutVariables(text)}`;
}

/** Adds the account's id where a careless server might read it: query and body. */
function withAccountOf({ path, body, ...sent }: CaseRequest, { accountId }: Party): CaseRequest {
  const more = `${path.includes('?') ? '&' : '?'}accountId=${accountId}&account_id=${accountId}&userId=${accountId}`;
  const object = isSchema(body) ? { ...body, accountId, account_id: accountId, userId: accountId } : body;
  return { ...sent, path: path + more, body: object };
}

/** The query fields that take any text. */
function textFilters({ query }: Route): string[] {
  const fields = isSchema(query) && isSchema(query['properties']) ? query['properties'] : {};
  return Object.entries(fields).flatMap(([name, field]) =>
    isSchema(field) && field['type'] === 'string' && !field['enum'] && !field['format'] && !field['pattern']
      ? [name]
      : [],
  );
}
