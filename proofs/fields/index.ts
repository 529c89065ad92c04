import { isRecord } from '../../src/platform/lib/is-record.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { fieldsOf, type Smuggled, smuggledFields } from './smuggled.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { listRoutes, type Route } from '../lib/routes.ts';
import { freshThings, requestOf, send, type CaseRequest, withoutVariables } from '../tenants/attack.ts';
import type { Case } from '../tenants/case.ts';
import { CASES } from '../tenants/cases.ts';
import { openNeighbours } from '../tenants/neighbours.ts';
import { withThings, rowsOfAccount } from '../tenants/party.ts';
import { type Party, SINGLE_THINGS } from '../tenants/things.ts';

/** How many of the smuggled fields are also sent alone, in case they hide each other's effects when sent together. */
const ALONE_COUNTS: Readonly<Record<Mode, number>> = { tiny: 0, quick: 0, full: Number.POSITIVE_INFINITY };
/** The smallest run tries one route in this many, chosen by the seed, and the one that creates keys. */
const TINY_STRIDE = 4;
const NEW_KEY = 'POST /api/partner-gateway/v1/authentication';
/** The maximum number of fields in a form. */
const MAX_FORM_FIELDS = 12;
/** Every route accepts 1,000 values that it does not know; a list of one text is two of them. */
const MAX_ADDED_FIELDS = 500;

export const fields: Proof = {
  promise: 'A field that only the server sets cannot be set by a request, whatever its name or form.',
  sabotage: {
    fault: 'a new key takes its owner from the body',
    file: new URL('../sabotage/fields.ts', import.meta.url),
    breaks: ['no smuggled field changes the answer or what is stored'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using neighbours = await openNeighbours(run);
  const [by, victim] = neighbours.parties;
  const routes = await listRoutes();
  const smuggled = await smuggledFields(by.pool, routes, victim.accountId);
  const tally = createTally(run);
  const before = await rowsOfAccount(victim);
  const writing = routes.filter(({ method }) => method !== 'GET');
  const isChosen = ({ name }: Route, i: number): boolean =>
    run.mode !== 'tiny' || name === NEW_KEY || i % TINY_STRIDE === run.seed % TINY_STRIDE;
  for (const route of writing.filter(isChosen)) {
    const tried = CASES[route.name];
    if (tried) await smuggleInto({ route, tried, by }, smuggled, ALONE_COUNTS[run.mode], tally);
  }
  const changedRows = new Set(before).symmetricDifference(new Set(await rowsOfAccount(victim))).size;
  const withoutCase = routes.filter(({ name, needsCredentials }) => needsCredentials && !CASES[name]).length;
  const { counts } = tally;
  return judge(
    { ...counts, fields: smuggled.length, changedRows, withoutCase },
    {
      'every route has a case': withoutCase === 0,
      'each case works without smuggled fields': counts.controlsFailed === 0,
      'no smuggled field changes the answer or what is stored': counts.effects === 0,
      'later requests are not affected': counts.polluted === 0,
      'no row of another account is changed': changedRows === 0,
    },
  );
}

type Tally = ReturnType<typeof createTally>;

function createTally(run: Run) {
  return {
    counts: { routes: 0, requests: 0, controlsFailed: 0, effects: 0, polluted: 0 },
    report: createFaultLog(run),
  };
}

/** A route, its case, and the account that sends the request. */
type Trial = { readonly route: Route; readonly tried: Case; readonly by: Party };

/**
 * Tries the smuggled fields and compares the effect with that of the same request without them, sent before and after.
 */
async function smuggleInto(trial: Trial, smuggled: readonly Smuggled[], alone: number, tally: Tally): Promise<void> {
  const { counts, report } = tally;
  const { route, tried } = trial;
  counts.routes++;
  // The first request may have another effect: it changes a setting, or sends what is queued.
  await effectOf(trial, unchanged);
  const control = await effectOf(trial, unchanged);
  if (control.status >= 300 && !tried.answers?.includes(control.status)) {
    counts.controlsFailed++;
    report(route.name, `${route.name} answers ${control.status}: ${control.text}`);
  }
  for (const { name, add, refused } of attemptsOn(trial, control.sent, smuggled, alone)) {
    const effect = await effectOf(trial, add);
    counts.requests++;
    if (effect.text === control.text || (refused && effect.refusedCleanly)) continue;
    counts.effects++;
    report(`${route.name} ${name}`, `${route.name} with ${name}: ${firstDifference(control.text, effect.text)}`);
  }
  const after = await effectOf(trial, unchanged);
  if (after.text === control.text) return;
  counts.polluted++;
  report(route.name, `${route.name} differs afterwards: ${firstDifference(control.text, after.text)}`);
}

const unchanged = (sent: CaseRequest): CaseRequest => sent;

type Effect = {
  /** The request as it was before anything was added. */
  readonly sent: CaseRequest;
  readonly status: number;
  /** The answer, and the rows that were added and removed, without what differs between requests. */
  readonly text: string;
  /** Whether it was answered 400 and nothing was stored. */
  readonly refusedCleanly: boolean;
};

/** Sends a valid request with own things, changed by `add`, and returns its effect. */
async function effectOf({ route, tried, by: party }: Trial, add: (sent: CaseRequest) => CaseRequest): Promise<Effect> {
  await party.pool.query(MAKE_ROOM, [party.accountId]);
  const by = await withThings(party, SINGLE_THINGS);
  const sent = requestOf(route, tried, by, await freshThings(by, tried));
  const before = new Set(await rowsOfAccount(by));
  const { status, body } = await send(by, add(sent));
  const after = new Set(await rowsOfAccount(by));
  const came = [...after.difference(before)].map((row) => `+ ${row}`);
  const went = [...before.difference(after)].map((row) => `- ${row}`);
  const rows = [...came, ...went].filter(isFact).map(withoutThings).sort();
  const face = [`${status} ${withoutThings(JSON.stringify(withoutWarnings(body)))}`, ...rows].join('\n');
  return { sent, status, text: face, refusedCleanly: status === 400 && rows.length === 0 };
}

/** Answers name the fields that they do not know; that is all that such a field may change. */
const withoutWarnings = (body: unknown): unknown =>
  isRecord(body) ? Object.fromEntries(Object.entries(body).filter(([key]) => key !== 'warnings')) : body;

/** An account may have at most 100 custom fields, and the full run creates more. */
const MAKE_ROOM = `DELETE FROM custom_field
  WHERE account_id = $1 AND 90 < (SELECT count(*) FROM custom_field WHERE account_id = $1)`;

/**
 * Leaves out rows that vary by chance: reserved credit and hourly counts are spread over several, inbox counts depend on
 * what went before, and events of messages on how far a worker is.
 */
const isFact = (row: string): boolean => !/^[+-] (credit_frozen|traffic_hour|inbox_count|webhook_outbox) /.test(row);

/** Removes what differs between things: the random part of their names, sums, and ids of templates and links. */
const withoutThings = (text: string): string =>
  withoutVariables(text)
    .replace(/(quokka|numbat|wombat)[-_][0-9a-f]{12}/g, '$1')
    .replace(/\+39333\d{7}/g, '<phone>')
    .replace(/"round": \d+/g, '"round": <turn>')
    // Template ids, as the WhatsApp sandbox numbers them.
    .replace(/\b9\d{14}\b/g, '<template>')
    .replace(/api\/files\/[\w-]{22}\?[^"]*/g, '<link>')
    .replace(/"media_key": "[\w-]{22}"/g, '<key>')
    .replace(/(inbox_event .*"id": )\d+/g, '$1<turn>')
    .replace(/(inbox .*"last_event": )\d+/g, '$1<sum>')
    .replace(/(contact_book .*"contacts": )\d+/g, '$1<sum>')
    .replace(/(credit_\w+ .*micros": )-?\d+/g, '$1<sum>');

type Attempt = {
  readonly name: string;
  readonly add: (sent: CaseRequest) => CaseRequest;
  /** Whether a refusal is accepted as well as ignoring the field. */
  readonly refused: boolean;
};

/**
 * All attempts on a route: the foreign fields together and one by one, in body and query; the prototype; doubled
 * fields.
 */
function attemptsOn(
  { route, tried: { form, opaque = [] } }: Trial,
  { body }: CaseRequest,
  smuggled: readonly Smuggled[],
  alone: number,
): Attempt[] {
  const foreign = smuggled.filter(({ key }) => !fieldsOf(route.body).has(key) && !fieldsOf(route.query).has(key));
  // Each of them is added to every object, and together they must not be too many values for a body.
  const fieldsAtOnce = Math.floor(MAX_ADDED_FIELDS / countObjects(body ?? {}, opaque));
  const together = (extra: readonly Smuggled[]) => Object.fromEntries(extra.map(({ key, value }) => [key, value]));
  return [
    ...inParts(foreign, form === undefined ? fieldsAtOnce : MAX_FORM_FIELDS).map((part) => ({
      name: `the fields from ${part[0]?.key}`,
      add: inBody(together(part), opaque),
      refused: false,
    })),
    { name: 'all fields in the query', add: inQuery(foreign), refused: false },
    ...foreign
      .slice(0, alone)
      .map((field) => ({ name: field.key, add: inBody(together([field]), opaque), refused: false })),
    ...(form === undefined ? inText(foreign.map((field) => together([field]))) : []),
  ];
}

const inParts = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

/** A prototype has at most 1,000 fields, as every object of a body. */
const inText = (foreign: readonly object[]): Attempt[] => [
  ...inParts(foreign, MAX_ADDED_FIELDS).flatMap((part, n) => {
    const extra = Object.assign({}, ...part);
    return [
      { name: `__proto__, part ${n + 1}`, add: raw('__proto__', extra), refused: true },
      { name: `constructor, part ${n + 1}`, add: raw('constructor', { prototype: extra }), refused: true },
    ];
  }),
  { name: 'fields that come twice', add: twice, refused: false },
];

/** Adds the fields to the document and to every object in it, except opaque ones. */
const inBody =
  (extra: object, opaque: readonly string[]) =>
  (sent: CaseRequest): CaseRequest => ({ ...sent, body: spreadInto(sent.body ?? {}, extra, opaque) });

function spreadInto(value: unknown, extra: object, opaque: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => spreadInto(item, extra, opaque));
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, child]): [string, unknown] => [
    key,
    opaque.includes(key) ? child : spreadInto(child, extra, opaque),
  ]);
  return { ...extra, ...Object.fromEntries(inner) };
}

/** Returns the number of objects and lists through which `spreadInto` goes. */
function countObjects(value: unknown, opaque: readonly string[]): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.entries(value).map(([key, child]) => (opaque.includes(key) ? 0 : countObjects(child, opaque)));
  return inner.reduce((sum, count) => sum + count, 1);
}

const inQuery =
  (extra: readonly Smuggled[]) =>
  (sent: CaseRequest): CaseRequest => {
    const more = new URLSearchParams(extra.map(({ key, value }) => [key, String(value)])).toString();
    return { ...sent, path: `${sent.path}${sent.path.includes('?') ? '&' : '?'}${more}` };
  };

/** Builds the body as text, because a JavaScript object cannot hold such a key. */
const raw =
  (key: string, value: object) =>
  (sent: CaseRequest): CaseRequest => {
    const rest = JSON.stringify(sent.body ?? {}).slice(1);
    return { ...sent, body: `{"${key}":${JSON.stringify(value)}${rest === '}' ? '' : ','}${rest}` };
  };

/** Sends each field first with a value of another type and then with its own: every JSON reader takes the last one. */
const twice = (sent: CaseRequest): CaseRequest => {
  const own = JSON.stringify(sent.body ?? {});
  const wrong = Object.keys(JSON.parse(own)).map((key) => `${JSON.stringify(key)}:{"smuggled":[true]},`);
  return { ...sent, body: `{${wrong.join('')}${own.slice(1)}` };
};

function firstDifference(control: string, face: string): string {
  const [expected, found] = [control.split('\n'), face.split('\n')];
  const line = found.find((each) => !expected.includes(each));
  return line === undefined ? `without ${expected.find((each) => !found.includes(each))}` : line;
}
