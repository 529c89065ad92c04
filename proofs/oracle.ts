import type { Answer } from '../test/support/client.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { listRoutes, type Route } from './lib/routes.ts';
import { requestOf, send } from './tenants/attack.ts';
import type { Case } from './tenants/case.ts';
import { CASES } from './tenants/cases.ts';
import { openNeighbours } from './tenants/neighbours.ts';
import { withThings, ownThing } from './tenants/party.ts';
import { MAKERS, type Party, type Thing, type ThingName } from './tenants/things.ts';

const PAIRS: Readonly<Record<Mode, number>> = { tiny: 300, quick: 3_000, full: 20_000 };
/** Pairs of requests before anything is measured, so that connections are open and code is compiled. */
const WARM_UP_PAIRS = 200;
const FOREIGN_THINGS = 20;
const MAX_GAP_MS = 1;
const MAX_EXAMPLES = 10;

export const oracle: Proof = {
  promise: "Another account's id is answered like an unknown one: with the same bytes, in the same time.",
  sabotage: {
    fault: 'a user of another account is answered 403, not 404',
    file: new URL('./sabotage/oracle.ts', import.meta.url),
    breaks: ['a foreign id is answered with the same bytes as an unknown one'],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

/** A path or query field of a route that names a thing; requests for it do not use the id up. */
type Field = {
  readonly route: Route;
  readonly tried: Case;
  readonly field: string;
  readonly thing: ThingName;
  readonly foreign: readonly Thing[];
};

/** How much longer the foreign id took than the unknown one, and how the answers differ, if they do. */
type Pair = { readonly gapMs: number; readonly difference: string | undefined };

async function prove(run: Run): Promise<Findings> {
  await using neighbours = await openNeighbours(run);
  const [mine, other] = neighbours.parties;
  const by = await withThings(mine);
  const routes = (await listRoutes()).filter(({ needsCredentials }) => needsCredentials);
  const fields = await fieldsOf(routes, other);
  for (let i = 0; i < WARM_UP_PAIRS; i++) await comparePair(run, by, oneOf(run, fields));

  const gaps = new Map(fields.map((field) => [field, [] as number[]]));
  let differences = 0;
  for (let i = 0; i < PAIRS[run.mode]; i++) {
    const field = fields[i % fields.length] ?? oneOf(run, fields);
    const { gapMs, difference } = await comparePair(run, by, field);
    gaps.get(field)?.push(gapMs);
    if (difference !== undefined && ++differences <= MAX_EXAMPLES) run.log(`${fieldName(field)}: ${difference}`);
  }
  const missing = routes.filter(({ name }) => !CASES[name]);
  for (const { name } of missing) run.log(`no case in proofs/tenants/cases.ts: ${name}`);
  return judgeGaps(run, gaps, { differences, withoutCase: missing.length });
}

const fieldName = ({ route, field }: Field): string => `${route.name} ${field}`;

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

/** Requests a foreign thing and an unknown one, in random order. */
async function comparePair(run: Run, by: Party, { route, tried, field, thing, foreign }: Field): Promise<Pair> {
  const own = Object.fromEntries(Object.entries(tried.ids ?? {}).map(([name, kind]) => [name, ownThing(by, kind)]));
  const things = [oneOf(run, foreign), MAKERS[thing].unknown()];
  const asked: { readonly face: string; readonly ms: number }[] = [];
  const first = between(run, 0, 1);
  for (const which of [first, 1 - first]) {
    const named = things[which] ?? '';
    const sent = requestOf(route, tried, by, { ...own, [field]: named });
    const started = performance.now();
    const answer = await send(by, sent);
    asked[which] = { ms: performance.now() - started, face: normalized(answer, named) };
  }
  const [known, unknown] = asked;
  if (!known || !unknown) throw new Error('two answers are needed');
  const difference = known.face === unknown.face ? undefined : `${known.face} instead of ${unknown.face}`;
  return { gapMs: known.ms - unknown.ms, difference };
}

/** Headers that differ from one answer to the next, whatever is requested. */
const VOLATILE_HEADERS = /^(date|x-request-id|x-ratelimit-.*|keep-alive)$/;

/** The answer as text, without the requested id, the request id and the random state. */
function normalized({ status, headers, body }: Answer, named: Thing): string {
  const lasting = [...headers].filter(([name]) => !VOLATILE_HEADERS.test(name));
  const text = JSON.stringify([status, lasting, body]);
  return text
    .replaceAll(JSON.stringify(String(named)).slice(1, -1), '<id>')
    .replace(/"requestId":"[^"]*"/, '"requestId":""')
    .replace(/state=[\w-]{43}/, 'state=');
}

type Counts = { readonly differences: number; readonly withoutCase: number };

function judgeGaps(run: Run, gaps: ReadonlyMap<Field, readonly number[]>, counts: Counts): Findings {
  const slower = [...gaps].filter(([, each]) => Math.abs(median(each)) >= MAX_GAP_MS && isBeyondChance(each));
  for (const [field, each] of slower) run.log(`${fieldName(field)}: a foreign id takes ${round(median(each))} ms more`);
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
      'every route has a case, and each of its id fields is tried':
        counts.withoutCase === 0 && gaps.size > 0 && all.length >= gaps.size,
      'a foreign id is answered with the same bytes as an unknown one': counts.differences === 0,
      'and in the same time: the median gap is below a millisecond': Math.abs(median(all)) < MAX_GAP_MS,
      'for no field does the time differ by a millisecond or more, beyond chance': slower.length === 0,
    },
  );
}

/**
 * Whether one of the two is slower far more often than the other: by more than four standard deviations of a coin toss.
 * On a busy machine the median gap of a field may be anything, but not this.
 */
function isBeyondChance(gaps: readonly number[]): boolean {
  const more = gaps.filter((gap) => gap > 0).length;
  return Math.abs(more - gaps.length / 2) > 2 * Math.sqrt(gaps.length);
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
