import { createFaultLog } from '../lib/fault-log.ts';
import { type Findings, judge, type Proof, type Run } from '../lib/proof.ts';
import { listRoutes, type Route } from '../lib/routes.ts';
import { NO_ROW_SECURITY, ONE_REDIRECT_URI } from '../sabotage/in-database.ts';
import { type Attempt, attempts, worksWithOwn } from './attack.ts';
import { type Caller, openUsers, openUsersAndKeys } from './callers.ts';
import type { Case } from './case.ts';
import { CASES, compareCases } from './cases.ts';
import { mixUp } from './mix-up.ts';
import { openNeighbours } from './neighbours.ts';
import { makeRoom, marksOf, ownThing, rowsOfAccount, withThings } from './party.ts';
import { CHOSEN_THINGS, type Party, SINGLE_THINGS, THING_NAMES } from './things.ts';

const SIGN_OUT = 'DELETE /api/partner-gateway/v1/session';

export const tenants: Proof = {
  promise: 'No account sees, changes or learns of anything of another.',
  sabotage: {
    fault:
      'an Idempotency-Key is in use for all accounts, without row-level security, and all have one redirect URI for single sign-on',
    module: new URL('../sabotage/tenants.ts', import.meta.url),
    sql: NO_ROW_SECURITY + ONE_REDIRECT_URI,
    breaks: [
      'a foreign id gets exactly the response of an unknown one',
      'no provider gets a code of another',
      'a mix-up of providers signs no user in',
    ],
    mode: 'tiny',
  },
  prove: (run) => prove(run, openUsersAndKeys),
};

export const tenantsAppOnly: Proof = {
  promise: 'The statements alone keep accounts apart, even if the database lets every request see everything.',
  sabotage: {
    fault: 'an Idempotency-Key is in use for all accounts',
    module: new URL('../sabotage/tenants.ts', import.meta.url),
    breaks: ['a foreign id gets exactly the response of an unknown one'],
    mode: 'tiny',
  },
  prove: (run) => prove({ ...run, sabotage: { ...run.sabotage, sql: NO_ROW_SECURITY } }, openUsers),
};

async function prove(run: Run, openCallers: (party: Party) => Promise<Caller[]>): Promise<Findings> {
  await using neighbours = await openNeighbours(run);
  const { parties } = neighbours;
  const routes = await listRoutes();
  const results = createCounts(run);
  const coverage = coverageOf(run, routes);
  // In the smallest run, each account is the attacker once and the victim once.
  const pairs = pairsOf(parties).filter((_, i) => run.mode !== 'tiny' || i % 2 === 0);
  for (const [n, pair] of pairs.entries()) {
    await attack(casesOf(routes), pair, results);
    // Each of them attacks once, as one of the accounts.
    const callers = (await openCallers(pair[0])).filter((_, i) => i % pairs.length === n);
    for (const caller of callers) await attack(casesOf(routes), pair, results, caller);
  }
  for (const party of parties.slice(0, 1)) await checkOwn(casesOf(routes), party, results);
  const { counts } = results;
  const found = await mixUp(run, neighbours.stage);
  return judge(
    { ...counts, ...coverage, ...found },
    {
      'every route of the router is tried': coverage.withoutCase + coverage.staleCases === 0,
      'each case works with own things': counts.ownFailed === 0,
      'every caller is let in': counts.callers > 0 && counts.shutOut === 0,
      'a foreign id gets exactly the response of an unknown one': counts.distinguishable === 0,
      'no response is a server error': counts.failed === 0,
      'no response shows anything of another account': counts.shown === 0,
      'no row of another account is changed': counts.changed === 0,
      'people sign in with the provider of their company': found.honestSignIns > 0,
      'no provider gets a code of another': found.strayCodes === 0,
      'a mix-up of providers signs no user in': found.straySessions === 0,
      'a mail domain without proof leads to no provider': found.misled === 0,
    },
  );
}

type Counts = ReturnType<typeof createCounts>;

/** Counts faults, and logs each kind once. */
function createCounts(run: Run) {
  const counts = {
    requests: 0,
    callers: 0,
    allowed: 0,
    shutOut: 0,
    ownFailed: 0,
    distinguishable: 0,
    shown: 0,
    changed: 0,
    failed: 0,
  };
  const report = createFaultLog(run);
  return {
    counts,
    /** The ids that clients of any account have chosen: an attacker stores those that it tries in its own messages. */
    echoes: new Set<string>(),
    fault(kind: keyof typeof counts, what: string, sentence: string): void {
      counts[kind]++;
      report(what, sentence);
    },
  };
}

function coverageOf({ log }: Run, routes: readonly Route[]) {
  const { withoutCase, stale } = compareCases(routes);
  for (const name of withoutCase) log(`no case in proofs/tenants/cases.ts: ${name}`);
  for (const name of stale) log(`case without a route: ${name}`);
  return { routes: routes.length, withoutCase: withoutCase.length, staleCases: stale.length };
}

/**
 * Makes one account reach for another's things by every route, with its key or as a caller with fewer rights, and checks
 * that the other one's rows stay the same.
 */
async function attack(
  cases: readonly [Route, Case][],
  [attacker, attacked]: readonly [Party, Party],
  results: Counts,
  caller?: Caller,
): Promise<void> {
  await makeRoom(attacker);
  await makeRoom(attacked);
  const failed = ({ message }: Error): void => results.fault('ownFailed', message, message);
  const own = await withThings(attacker, THING_NAMES, failed);
  const victim = await withThings(attacked, THING_NAMES, failed);
  const before = await rowsOfAccount(victim);
  const marks = (await marksOf(victim)).difference(await marksOf(own));
  for (const name of CHOSEN_THINGS) results.echoes.add(String(ownThing(victim, name)));
  const signs = { marks, echoes: results.echoes };
  if (caller) await attackAs(caller, cases, [own, victim], signs, results);
  else
    for (const [route, tried] of cases)
      for await (const attempt of attempts(route, tried, own, victim)) checkAttempt(attempt, tried, signs, results);
  for (const row of differences(before, await rowsOfAccount(victim)))
    results.fault('changed', row, `changed from outside: ${row}`);
}

/** Tries every route, except for the one that ends the caller's own session, until it is forbidden. */
async function attackAs(
  { name, client }: Caller,
  cases: readonly [Route, Case][],
  [own, victim]: readonly [Party, Party],
  signs: Signs,
  results: Counts,
): Promise<void> {
  let allowed = 0;
  const usesCredentials = ([route, { sign }]: [Route, Case]): boolean => route.name !== SIGN_OUT && !sign;
  for (const [route, tried] of cases.filter(usesCredentials))
    for await (const attempt of attempts(route, tried, { ...own, client }, victim)) {
      const { status } = attempt.answer;
      const what = `${attempt.what} by ${name}`;
      checkAttempt({ ...attempt, what }, tried, signs, results);
      // Credentials that no longer count, or too many requests: nothing was tried.
      if (status === 401 || status === 429) results.fault('shutOut', what, `${what} returns ${status}`);
      if (status < 300) allowed++;
      if (status === 403) break;
    }
  results.counts.callers++;
  results.counts.allowed += allowed;
  if (allowed === 0) results.fault('shutOut', name, `nothing lets ${name} in`);
}

function checkAttempt(attempt: Attempt, { answers = [] }: Case, signs: Signs, { counts, fault }: Counts): void {
  const { what, answer } = attempt;
  counts.requests++;
  if (attempt.fault !== undefined) fault('distinguishable', what, `${what}: ${attempt.fault}`);
  if (answer.status >= 500 && !answers.includes(answer.status))
    fault('failed', what, `${what} returns ${answer.status}`);
  const mark = findMark(attempt, signs);
  if (mark !== undefined) fault('shown', what, `${what} shows ${mark}`);
}

async function checkOwn(cases: readonly [Route, Case][], party: Party, { fault }: Counts): Promise<void> {
  await makeRoom(party);
  for (const [route, tried] of cases) {
    const sentence = await withThings(party, SINGLE_THINGS)
      .then((by) => worksWithOwn(route, tried, by))
      .catch(({ message }: Error) => message);
    if (sentence !== undefined) fault('ownFailed', route.name, sentence);
  }
}

/** Routes that delete things come last, so that there is something to show until then. */
const casesOf = (routes: readonly Route[]): [Route, Case][] =>
  routes
    .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    .flatMap((route) => {
      const tried = CASES[route.name];
      return tried ? [[route, tried]] : [];
    });

const pairsOf = (parties: readonly Party[]): [Party, Party][] =>
  parties.flatMap((by) => parties.flatMap((victim): [Party, Party][] => (by === victim ? [] : [[by, victim]])));

/** Ids and token of the other account, which show that a response is about it, and chosen ids, which show nothing by themselves. */
type Signs = { readonly marks: ReadonlySet<string>; readonly echoes: ReadonlySet<string> };

/**
 * Returns the place with the first mark of the other account in the response that was not in the request: a refusal may quote
 * that.
 */
function findMark({ sent, answer }: Attempt, { marks, echoes }: Signs): string | undefined {
  const text = [...echoes].reduce((rest, echo) => rest.replaceAll(echo, ''), JSON.stringify(answer.body) ?? '');
  const asked = JSON.stringify(sent);
  const found = [...marks].find((mark) => text.includes(mark) && !asked.includes(mark));
  const at = found === undefined ? -1 : text.indexOf(found);
  return at < 0 ? undefined : `${found}: ${text.slice(Math.max(0, at - 200), at + 200)}`;
}

const differences = (before: readonly string[], after: readonly string[]): string[] => [
  ...new Set(before).symmetricDifference(new Set(after)),
];
