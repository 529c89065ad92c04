import { createExamples } from './examples.ts';
import { type Findings, judge, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { type Attempt, attempts, worksWithOwn } from './tenants/attack.ts';
import { type Case, CASES, OPEN_ROUTES } from './tenants/cases.ts';
import { openNeighbours } from './tenants/neighbours.ts';
import { furnished, marksOf, rowsOfAccount } from './tenants/party.ts';
import { type Party, SINGLE_THINGS, THING_NAMES } from './tenants/things.ts';

export const tenants: Proof = {
  promise: 'No account sees, changes or learns of what belongs to another.',
  sabotage: {
    fault: 'the look-up of messages forgets its account, and requests run as the owner of the tables',
    file: new URL('./sabotage/tenants.ts', import.meta.url),
  },
  prove: (run) => prove(run, []),
};

export const tenantsRlsOnly: Proof = {
  promise: 'The database alone keeps accounts apart when no statement of a request names its account any more.',
  sabotage: {
    fault: 'requests run as the owner of the tables',
    file: new URL('./sabotage/tenants-rls-only.ts', import.meta.url),
  },
  prove: (run) => prove(run, [new URL('./tenants/checks-off.ts', import.meta.url)]),
};

async function prove(run: Run, preload: readonly URL[]): Promise<Findings> {
  await using neighbours = await openNeighbours(run, preload);
  const { parties } = neighbours;
  const routes = await listRoutes();
  const tally = createTally(run);
  const coverage = coverageOf(run, routes);
  // In small, each account is once in either part.
  for (const pair of pairsOf(parties).filter((_, i) => run.mode !== 'tiny' || i % 2 === 0))
    await attack(casesOf(routes), pair, tally);
  for (const party of parties.slice(0, 1)) await tryOwn(casesOf(routes), party, tally);
  const { counts } = tally;
  return judge(
    { ...counts, ...coverage },
    {
      'every route of the router is tried': coverage.withoutCase + coverage.staleCases === 0,
      'each case is right: with own things it works': counts.ownFailed === 0,
      'a foreign id answers exactly as an unknown one': counts.told === 0,
      'nobody is answered with an error of the server': counts.failed === 0,
      'no answer shows anything of another account': counts.shown === 0,
      'no row of another account is changed': counts.changed === 0,
    },
  );
}

type Tally = ReturnType<typeof createTally>;

/** Counts faults, and tells of each kind once. */
function createTally(run: Run) {
  const counts = { requests: 0, ownFailed: 0, told: 0, shown: 0, changed: 0, failed: 0 };
  const tell = createExamples(run);
  return {
    counts,
    fault(kind: keyof typeof counts, what: string, sentence: string): void {
      counts[kind]++;
      tell(what, sentence);
    },
  };
}

/** Every route has a case or is known to ask for no credentials; every case has a route. */
function coverageOf(run: Run, routes: readonly Route[]) {
  const isTried = ({ name, closed }: Route): boolean => (closed ? CASES[name] !== undefined : OPEN_ROUTES.has(name));
  const missing = routes.filter((route) => !isTried(route));
  const stale = Object.keys(CASES).filter((name) => !routes.some((route) => route.name === name));
  for (const { name } of missing) run.say(`no case in proofs/tenants/cases.ts: ${name}`);
  for (const name of stale) run.say(`a case of no route: ${name}`);
  return { routes: routes.length, withoutCase: missing.length, staleCases: stale.length };
}

/** One account reaches for what is another's, by every route; what that one has is the same afterwards. */
async function attack(cases: readonly [Route, Case][], pair: readonly [Party, Party], tally: Tally): Promise<void> {
  const failed = ({ message }: Error): void => tally.fault('ownFailed', message, message);
  const by = await furnished(pair[0], THING_NAMES, failed);
  const on = await furnished(pair[1], THING_NAMES, failed);
  const before = await rowsOfAccount(on);
  const marks = (await marksOf(on)).difference(await marksOf(by));
  for (const [route, tried] of cases)
    for await (const attempt of attempts(route, tried, by, on)) hear(attempt, marks, tally);
  for (const row of differences(before, await rowsOfAccount(on)))
    tally.fault('changed', row, `changed from outside: ${row}`);
}

function hear(attempt: Attempt, marks: ReadonlySet<string>, { counts, fault }: Tally): void {
  const { what, answer } = attempt;
  counts.requests++;
  if (attempt.fault !== undefined) fault('told', what, attempt.fault);
  if (answer.status >= 500) fault('failed', what, `${what} answers ${answer.status}`);
  const mark = markIn(attempt, marks);
  if (mark !== undefined) fault('shown', what, `${what} shows ${mark}: ${JSON.stringify(answer.body)}`);
}

async function tryOwn(cases: readonly [Route, Case][], party: Party, { fault }: Tally): Promise<void> {
  for (const [route, tried] of cases) {
    const sentence = await furnished(party, SINGLE_THINGS)
      .then((by) => worksWithOwn(route, tried, by))
      .catch(({ message }: Error) => message);
    if (sentence !== undefined) fault('ownFailed', route.name, sentence);
  }
}

/** What ends things comes last: until then there is something to show. */
const casesOf = (routes: readonly Route[]): [Route, Case][] =>
  routes
    .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    .flatMap((route) => {
      const tried = CASES[route.name];
      return tried ? [[route, tried]] : [];
    });

const pairsOf = (parties: readonly Party[]): [Party, Party][] =>
  parties.flatMap((by) => parties.flatMap((on): [Party, Party][] => (by === on ? [] : [[by, on]])));

/** What of the other account stands in the answer, that was not in the request: a refusal may quote that. */
function markIn({ sent, answer }: Attempt, marks: ReadonlySet<string>): string | undefined {
  const text = JSON.stringify(answer.body) ?? '';
  const asked = JSON.stringify(sent);
  return [...marks].find((mark) => text.includes(mark) && !asked.includes(mark));
}

const differences = (before: readonly string[], after: readonly string[]): string[] => [
  ...new Set(before).symmetricDifference(new Set(after)),
];
