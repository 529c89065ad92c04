import { createExamples } from './examples.ts';
import { fieldsOf, type Smuggled, smuggledFields } from './fields/smuggled.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { freshThings, requestOf, send, type Sent, withoutChance } from './tenants/attack.ts';
import { type Case, CASES } from './tenants/cases.ts';
import { openNeighbours } from './tenants/neighbours.ts';
import { furnished, rowsOfAccount } from './tenants/party.ts';
import { type Party, SINGLE_THINGS } from './tenants/things.ts';

/** How many of the smuggled fields also go one by one: those that all of them together may have covered up. */
const ALONE: Readonly<Record<Mode, number>> = { tiny: 0, quick: 0, full: Number.POSITIVE_INFINITY };
/** In small, one route of so many. */
const EVERY = 4;
/** A form takes no more. */
const FIELDS_A_FORM = 12;

export const fields: Proof = {
  promise: 'A field that is the server’s to set is not set by a request, whatever name or form it comes in.',
  sabotage: {
    fault: 'a new key is made of whatever the body holds',
    file: new URL('./sabotage/fields.ts', import.meta.url),
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
  for (const route of writing.filter((_, i) => run.mode !== 'tiny' || i % EVERY === run.seed % EVERY)) {
    const tried = CASES[route.name];
    if (tried) await smuggleInto({ route, tried, by }, smuggled, ALONE[run.mode], tally);
  }
  const touched = new Set(before).symmetricDifference(new Set(await rowsOfAccount(victim))).size;
  const withoutCase = routes.filter(({ name, closed }) => closed && !CASES[name]).length;
  const { counts } = tally;
  return judge(
    { ...counts, fields: smuggled.length, touched, withoutCase },
    {
      'every route has a case': withoutCase === 0,
      'each case is right: without smuggled fields it works': counts.controlsFailed === 0,
      'a smuggled field changes neither the answer nor what is stored': counts.effects === 0,
      'what comes afterwards is as before': counts.polluted === 0,
      'no row of another account is changed': touched === 0,
    },
  );
}

type Tally = ReturnType<typeof createTally>;

function createTally(run: Run) {
  return {
    counts: { routes: 0, requests: 0, controlsFailed: 0, effects: 0, polluted: 0 },
    tell: createExamples(run),
  };
}

/** A route, a right request to it, and whose. */
type Trial = { readonly route: Route; readonly tried: Case; readonly by: Party };

/** What each smuggled field does, beside the same request without it, which comes first and last. */
async function smuggleInto(trial: Trial, smuggled: readonly Smuggled[], alone: number, tally: Tally): Promise<void> {
  const { counts, tell } = tally;
  const { route, tried } = trial;
  counts.routes++;
  // The first time may be another: a setting is changed, what waits is sent.
  await effectOf(trial, unchanged);
  const control = await effectOf(trial, unchanged);
  if (control.status >= 300 && !tried.answers?.includes(control.status)) {
    counts.controlsFailed++;
    tell(route.name, `${route.name} answers ${control.status}: ${control.face}`);
  }
  for (const { name, add, refused } of attemptsOn(trial, smuggled, alone)) {
    const effect = await effectOf(trial, add);
    counts.requests++;
    if (effect.face === control.face || (refused && effect.refusedCleanly)) continue;
    counts.effects++;
    tell(`${route.name} ${name}`, `${route.name} with ${name}: ${firstDifference(control.face, effect.face)}`);
  }
  const after = await effectOf(trial, unchanged);
  if (after.face === control.face) return;
  counts.polluted++;
  tell(route.name, `${route.name} is another afterwards: ${firstDifference(control.face, after.face)}`);
}

const unchanged = (sent: Sent): Sent => sent;

type Effect = {
  readonly status: number;
  /** The answer, and the rows that came and went, without what differs from one request to the next. */
  readonly face: string;
  /** 400, and nothing was stored. */
  readonly refusedCleanly: boolean;
};

/** A right request with own things, changed by `add`, and all that came of it. */
async function effectOf({ route, tried, by: party }: Trial, add: (sent: Sent) => Sent): Promise<Effect> {
  await party.pool.query(MAKE_ROOM, [party.accountId]);
  const by = await furnished(party, SINGLE_THINGS);
  const sent = add(requestOf(route, tried, by, await freshThings(by, tried)));
  const before = new Set(await rowsOfAccount(by));
  const { status, body } = await send(by, sent);
  const after = new Set(await rowsOfAccount(by));
  const came = [...after.difference(before)].map((row) => `+ ${row}`);
  const went = [...before.difference(after)].map((row) => `- ${row}`);
  const rows = [...came, ...went].filter(isFact).map(withoutThings).sort();
  const face = [`${status} ${withoutThings(JSON.stringify(body))}`, ...rows].join('\n');
  return { status, face, refusedCleanly: status === 400 && rows.length === 0 };
}

/** An account has at most 100 custom fields, and the full run makes more. */
const MAKE_ROOM = `DELETE FROM custom_field
  WHERE account_id = $1 AND 90 < (SELECT count(*) FROM custom_field WHERE account_id = $1)`;

/** What is frozen, and what is counted by the hour, is spread over rows by chance; counts depend on what went before. */
const isFact = (row: string): boolean => !/^[+-] (credit_frozen|traffic_hour|inbox_count) /.test(row);

/** Own things have a random part behind the token, and sums grow; what they are made of stands in rows of its own. */
const withoutThings = (text: string): string =>
  withoutChance(text)
    .replace(/(quokka|numbat|wombat)[-_][0-9a-f]{12}/g, '$1')
    .replace(/\+39333\d{7}/g, '<phone>')
    .replace(/"round": \d+/g, '"round": <turn>')
    // Ids of templates, as the sandbox of WhatsApp counts them.
    .replace(/\b9\d{14}\b/g, '<template>')
    .replace(/api\/files\/[\w-]{22}\?[^"]*/g, '<link>')
    .replace(/"media_key": "[\w-]{22}"/g, '<key>')
    .replace(/(inbox_event .*"id": )\d+/g, '$1<turn>')
    .replace(/(inbox .*"last_event": )\d+/g, '$1<sum>')
    .replace(/(contact_book .*"contacts": )\d+/g, '$1<sum>')
    .replace(/(credit_\w+ .*micros": )-?\d+/g, '$1<sum>');

type Attempt = {
  readonly name: string;
  readonly add: (sent: Sent) => Sent;
  /** A refusal is as good as ignoring it. */
  readonly refused: boolean;
};

/** All foreign fields together and one by one, in the body and in the query; the prototype; fields that come twice. */
function attemptsOn(
  { route, tried: { form, opaque = [] } }: Trial,
  smuggled: readonly Smuggled[],
  alone: number,
): Attempt[] {
  const foreign = smuggled.filter(({ key }) => !fieldsOf(route.body).has(key) && !fieldsOf(route.query).has(key));
  const together = (extra: readonly Smuggled[]) => Object.fromEntries(extra.map(({ key, value }) => [key, value]));
  return [
    ...inParts(foreign, form === undefined ? foreign.length : FIELDS_A_FORM).map((part) => ({
      name: `the fields from ${part[0]?.key}`,
      add: inBody(together(part), opaque),
      refused: false,
    })),
    { name: 'all fields in the query', add: inQuery(foreign), refused: false },
    ...foreign
      .slice(0, alone)
      .map((field) => ({ name: field.key, add: inBody(together([field]), opaque), refused: false })),
    ...(form === undefined ? inText(together(foreign)) : []),
  ];
}

const inParts = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

const inText = (extra: object): Attempt[] => [
  { name: '__proto__', add: raw('__proto__', extra), refused: true },
  { name: 'constructor', add: raw('constructor', { prototype: extra }), refused: true },
  { name: 'fields that come twice', add: twice, refused: false },
];

/** Into the document itself and into every object in it but the opaque ones. */
const inBody =
  (extra: object, opaque: readonly string[]) =>
  (sent: Sent): Sent => ({ ...sent, body: spreadInto(sent.body ?? {}, extra, opaque) });

function spreadInto(value: unknown, extra: object, opaque: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => spreadInto(item, extra, opaque));
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, child]): [string, unknown] => [
    key,
    opaque.includes(key) ? child : spreadInto(child, extra, opaque),
  ]);
  return { ...extra, ...Object.fromEntries(inner) };
}

const inQuery =
  (extra: readonly Smuggled[]) =>
  (sent: Sent): Sent => {
    const more = new URLSearchParams(extra.map(({ key, value }) => [key, String(value)])).toString();
    return { ...sent, path: `${sent.path}${sent.path.includes('?') ? '&' : '?'}${more}` };
  };

/** As text, since no object here can hold such a key. */
const raw =
  (key: string, value: object) =>
  (sent: Sent): Sent => {
    const rest = JSON.stringify(sent.body ?? {}).slice(1);
    return { ...sent, body: `{"${key}":${JSON.stringify(value)}${rest === '}' ? '' : ','}${rest}` };
  };

/** Each field once with a value of another kind and then with its own: the last one counts, for all who read it. */
const twice = (sent: Sent): Sent => {
  const own = JSON.stringify(sent.body ?? {});
  const wrong = Object.keys(JSON.parse(own)).map((key) => `${JSON.stringify(key)}:{"smuggled":[true]},`);
  return { ...sent, body: `{${wrong.join('')}${own.slice(1)}` };
};

function firstDifference(control: string, face: string): string {
  const [expected, found] = [control.split('\n'), face.split('\n')];
  const line = found.find((each) => !expected.includes(each));
  return line === undefined ? `without ${expected.find((each) => !found.includes(each))}` : line;
}
