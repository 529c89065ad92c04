import { type Findings, judge, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { openStage, type StageOptions } from './stage.ts';
import { type Attempt, attempts, worksWithOwn } from './tenants/attack.ts';
import { type Case, CASES, OPEN_ROUTES } from './tenants/cases.ts';
import { furnished, marksOf, openParties, rowsOfAccount, spreadIds } from './tenants/party.ts';
import { type Party, SINGLE_THINGS } from './tenants/things.ts';

/** Of the faults that were found, so many are told of in words. */
const EXAMPLES = 20;
const EXAMPLE_LENGTH = 600;

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

/** No worker: nothing changes by itself, so whatever changes was somebody's doing. */
const STAGE: StageOptions = {
  gateway: 'api',
  script: {},
  settings: {},
  environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
};

async function prove(run: Run, preload: readonly URL[]): Promise<Findings> {
  await using stage = await openStage(run, { ...STAGE, preload });
  await spreadIds(stage.pool);
  const parties = await openParties(stage);
  const all = await listRoutes();
  const routes = all.filter(({ closed }) => closed);
  const counts = { routes: routes.length, requests: 0, ownFailed: 0, told: 0, shown: 0, changed: 0, failed: 0 };
  const told = new Set<string>();
  const tell = (what: string, sentence: string): void => {
    if (!told.has(what) && told.size < EXAMPLES) run.say(sentence.slice(0, EXAMPLE_LENGTH));
    told.add(what);
  };
  const isTried = ({ name, closed }: Route): boolean => (closed ? CASES[name] !== undefined : OPEN_ROUTES.has(name));
  const missing = all.filter((route) => !isTried(route)).map(({ name }) => name);
  const stale = Object.keys(CASES).filter((name) => !routes.some((route) => route.name === name));
  for (const name of missing) run.say(`no case in proofs/tenants/cases.ts: ${name}`);
  for (const name of stale) run.say(`a case of no route: ${name}`);

  for (const pair of pairsOf(parties)) {
    const [by, on] = [await furnished(pair[0]), await furnished(pair[1])];
    const before = await rowsOfAccount(on);
    const marks = (await marksOf(on)).difference(await marksOf(by));
    for (const [route, tried] of casesOf(routes))
      for await (const attempt of attempts(route, tried, by, on)) {
        counts.requests++;
        if (attempt.fault !== undefined) counts.told++;
        if (attempt.fault !== undefined) tell(attempt.what, attempt.fault);
        if (attempt.answer.status >= 500) counts.failed++;
        if (attempt.answer.status >= 500) tell(attempt.what, `${attempt.what} answers ${attempt.answer.status}`);
        const mark = markIn(attempt, marks);
        if (mark !== undefined) counts.shown++;
        if (mark !== undefined)
          tell(attempt.what, `${attempt.what} shows ${mark}: ${JSON.stringify(attempt.answer.body)}`);
      }
    const changed = differences(before, await rowsOfAccount(on));
    counts.changed += changed.length;
    for (const row of changed) tell(row, `changed from outside: ${row}`);
  }
  const [first] = parties;
  for (const [route, tried] of casesOf(routes)) {
    const fault = first && (await worksWithOwn(route, tried, await furnished(first, SINGLE_THINGS)));
    if (fault !== undefined) counts.ownFailed++;
    if (fault !== undefined) tell(route.name, fault);
  }
  return judge(
    { ...counts, withoutCase: missing.length, staleCases: stale.length },
    {
      'every route of the router is tried': missing.length + stale.length === 0,
      'each case is right: with own things it works': counts.ownFailed === 0,
      'a foreign id answers exactly as an unknown one': counts.told === 0,
      'nobody is answered with an error of the server': counts.failed === 0,
      'no answer shows anything of another account': counts.shown === 0,
      'no row of another account is changed': counts.changed === 0,
    },
  );
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
