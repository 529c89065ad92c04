import type { Answer } from '../test/support/client.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { requestOf, send } from './tenants/attack.ts';
import { type Case, CASES } from './tenants/cases.ts';
import { openNeighbours } from './tenants/neighbours.ts';
import { furnished, ownThing } from './tenants/party.ts';
import { MAKERS, type Party, type Thing, type ThingName } from './tenants/things.ts';

const PAIRS: Readonly<Record<Mode, number>> = { tiny: 300, quick: 3_000, full: 20_000 };
/** Asked before anything is measured, so that connections are open and code is compiled. */
const WARM_UP_PAIRS = 200;
const FOREIGN_THINGS = 20;
const MAX_GAP_MS = 1;
const EXAMPLES = 10;

export const oracle: Proof = {
  promise: 'An id of another account answers as an unknown one does: the same octets, in the same time.',
  sabotage: {
    fault: 'a person of another account is 403, not 404',
    file: new URL('./sabotage/oracle.ts', import.meta.url),
  },
  prove,
};

/** A field of a route that names a thing, in the path or the query: asking for it takes no id into use. */
type Field = {
  readonly route: Route;
  readonly tried: Case;
  readonly field: string;
  readonly thing: ThingName;
  readonly foreign: readonly Thing[];
};

/** How long the foreign id took more than the unknown one, and whether the answers were the same. */
type Pair = { readonly gapMs: number; readonly difference: string | undefined };

async function prove(run: Run): Promise<Findings> {
  await using neighbours = await openNeighbours(run);
  const [mine, other] = neighbours.parties;
  const by = await furnished(mine);
  const routes = (await listRoutes()).filter(({ closed }) => closed);
  const fields = await fieldsOf(routes, other);
  for (let i = 0; i < WARM_UP_PAIRS; i++) await ask(run, by, oneOf(run, fields));

  const gaps = new Map(fields.map((field) => [field, [] as number[]]));
  let differences = 0;
  for (let i = 0; i < PAIRS[run.mode]; i++) {
    const field = fields[i % fields.length] ?? oneOf(run, fields);
    const { gapMs, difference } = await ask(run, by, field);
    gaps.get(field)?.push(gapMs);
    if (difference !== undefined && ++differences <= EXAMPLES) run.say(`${nameOf(field)}: ${difference}`);
  }
  const missing = routes.filter(({ name }) => !CASES[name]);
  for (const { name } of missing) run.say(`no case in proofs/tenants/cases.ts: ${name}`);
  return judged(run, gaps, { differences, withoutCase: missing.length });
}

const nameOf = ({ route, field }: Field): string => `${route.name} ${field}`;

async function fieldsOf(routes: readonly Route[], other: Party): Promise<Field[]> {
  const fields: Field[] = [];
  for (const route of routes)
    for (const [field, thing] of Object.entries(CASES[route.name]?.ids ?? {})) {
      const tried = CASES[route.name];
      if (!tried || !/^(path|query)\./.test(field)) continue;
      const foreign: Thing[] = [];
      for (let i = 0; i < FOREIGN_THINGS; i++) foreign.push(await MAKERS[thing].make(other));
      fields.push({ route, tried, field, thing, foreign });
    }
  return fields;
}

/** Asks for a foreign thing and for an unknown one, in an order that is left to chance. */
async function ask(run: Run, by: Party, { route, tried, field, thing, foreign }: Field): Promise<Pair> {
  const own = Object.fromEntries(Object.entries(tried.ids ?? {}).map(([name, kind]) => [name, ownThing(by, kind)]));
  const things = [oneOf(run, foreign), MAKERS[thing].unknown()];
  const asked: { readonly face: string; readonly ms: number }[] = [];
  const first = between(run, 0, 1);
  for (const which of [first, 1 - first]) {
    const named = things[which] ?? '';
    const sent = requestOf(route, tried, by, { ...own, [field]: named });
    const started = performance.now();
    const answer = await send(by, sent);
    asked[which] = { ms: performance.now() - started, face: faceOf(answer, named) };
  }
  const [known, unknown] = asked;
  if (!known || !unknown) throw new Error('two answers are needed');
  const difference = known.face === unknown.face ? undefined : `${known.face} against ${unknown.face}`;
  return { gapMs: known.ms - unknown.ms, difference };
}

/** Differ from one answer to the next, whatever is asked for. */
const PASSING_HEADERS = /^(date|x-request-id|x-ratelimit-.*|keep-alive)$/;

/** The answer without the id that was asked for, without that of the request and the state that is drawn for it. */
function faceOf({ status, headers, body }: Answer, named: Thing): string {
  const lasting = [...headers].filter(([name]) => !PASSING_HEADERS.test(name));
  const text = JSON.stringify([status, lasting, body]);
  return text
    .replaceAll(JSON.stringify(String(named)).slice(1, -1), '<id>')
    .replace(/"requestId":"[^"]*"/, '"requestId":""')
    .replace(/state=[\w-]{43}/, 'state=');
}

type Counts = { readonly differences: number; readonly withoutCase: number };

function judged(run: Run, gaps: ReadonlyMap<Field, readonly number[]>, counts: Counts): Findings {
  const slower = [...gaps].filter(([, each]) => Math.abs(median(each)) >= MAX_GAP_MS && isLopsided(each));
  for (const [field, each] of slower) run.say(`${nameOf(field)}: a foreign id takes ${round(median(each))} ms more`);
  const all = [...gaps.values()].flat();
  const widest = Math.max(0, ...[...gaps.values()].map((each) => Math.abs(median(each))));
  return judge(
    {
      fields: gaps.size,
      pairs: all.length,
      ...counts,
      medianGapMs: round(median(all)),
      widestGapMs: round(widest),
      slower: slower.length,
    },
    {
      'every route of the router has a case, and every id field of them is asked for':
        counts.withoutCase === 0 && gaps.size > 0 && all.length >= gaps.size,
      'a foreign id is answered with the same octets as an unknown one': counts.differences === 0,
      'and in the same time: the median of all gaps is below a millisecond': Math.abs(median(all)) < MAX_GAP_MS,
      'for no field does a foreign id take a millisecond more or less, beyond what chance explains':
        slower.length === 0,
    },
  );
}

/**
 * Whether one of the two is slower far more often than the other: four standard deviations of a tossed coin. On a busy
 * machine the median of a field's gaps may be anything; this it is not.
 */
function isLopsided(gaps: readonly number[]): boolean {
  const more = gaps.filter((gap) => gap > 0).length;
  return Math.abs(more - gaps.length / 2) > 2 * Math.sqrt(gaps.length);
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
