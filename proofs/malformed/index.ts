import { readFileSync } from 'node:fs';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { listRoutes, type Route } from '../lib/routes.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { freshThings, requestOf, wireOf } from '../tenants/attack.ts';
import { CASES } from '../tenants/cases.ts';
import { openNetworks } from '../tenants/networks.ts';
import { withThings } from '../tenants/party.ts';
import { SINGLE_THINGS } from '../tenants/things.ts';
import { createSender, sendBytes } from './exchange.ts';
import { fixedRequests, type RawRequest } from './fixed.ts';
import { generate, type Wire } from './generate.ts';
import { createJudge } from './judge.ts';
import { requestsWithNul } from './nul.ts';

/** The number of generated requests, which are sent after the fixed ones. */
const SIZES: Readonly<Record<Mode, number>> = { tiny: 400, quick: 6_000, full: 100_000 };
const CONNECTIONS = 8;
/** After this many requests another account is used: some requests lock theirs out, or delete its key. */
const REQUESTS_PER_ACCOUNT = 400;
const LARGE_REQUESTS = 60;
/**
 * Limits that make memory in use measurable: with a larger heap V8 delays garbage collection, and with an arena per
 * thread the C library keeps freed memory. A leak makes the program run out of memory.
 */
const MEMORY_LIMITS = { NODE_OPTIONS: '--max-old-space-size=128', MALLOC_ARENA_MAX: '2' };
const RSS_GROWTH_MIB = 128;

export const malformed: Proof = {
  promise: 'Malformed input is refused in the documented form, and has no other effect.',
  sabotage: {
    fault: 'the character U+0000 reaches the database',
    module: new URL('../sabotage/malformed.ts', import.meta.url),
    breaks: ['no response is a server error'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'api',
    environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...MEMORY_LIMITS },
  });
  const routes = await listRoutes();
  await using networks = new AsyncDisposableStack();
  const surroundings: Surroundings = { stage, networks, routes };
  const verdict = createJudge(run);
  const first = await newAccount(surroundings);
  await warmUp(stage, first, verdict);
  const usualPeak = peakMiB(stage.gateway.pid);
  // The smallest run sends every eighth; there are about thirty for each route.
  const fixed = fixedRequests(routes, first.apiKey).filter((_, i) => run.mode !== 'tiny' || i % 8 === 0);
  await sendFixed(stage, fixed, verdict);
  await sendWithNul(stage, first, verdict);
  run.log(`${verdict.counts.requests} fixed requests sent`);
  await fuzz(run, surroundings, first, verdict);
  const rssGrowthMiB = Math.round(peakMiB(stage.gateway.pid) - usualPeak);
  return conclude(verdict, {
    ...(await checkRunning(stage)),
    rssGrowthMiB,
    unreached: countUnreached(run, routes, verdict),
  });
}

type Verdict = ReturnType<typeof createJudge>;

type Surroundings = {
  readonly stage: Stage;
  /** The networks of all accounts so far. */
  readonly networks: AsyncDisposableStack;
  readonly routes: readonly Route[];
};

async function sendFixed(stage: Stage, fixed: RawRequest[], { countAnswers }: Verdict): Promise<void> {
  await inParallel(async () => {
    for (let raw = fixed.pop(); raw; raw = fixed.pop())
      countAnswers(`fixed: ${raw.name}`, await sendBytes(portOf(stage), raw), raw.answers);
  });
}

/** Puts U+0000 where it would reach the database: at random it would mostly be in a field that is refused anyway. */
async function sendWithNul(stage: Stage, account: FuzzAccount, { countAnswers }: Verdict): Promise<void> {
  const requests = requestsWithNul(account.validRequests).values();
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => account.apiKey);
  await inParallel(async () => {
    for (const [route, wire] of requests)
      countAnswers(`${route} with U+0000: ${wire.body}`, await sender.send(wire), 1, route);
  });
  await sender.close();
}

/** Checks that the program is running and responds. */
async function checkRunning({ gateway, client }: Stage) {
  const answered = await client.request('GET', '/health/live').catch(() => null);
  return { exits: gateway.running() ? 0 : 1, dead: answered?.status === 200 ? 0 : 1 };
}

/** Counts routes on which no request succeeded: everything sent there was refused before it got anywhere. */
function countUnreached(run: Run, routes: readonly Route[], { reached }: Verdict): number {
  const names = routes
    .filter(({ needsCredentials, name }) => needsCredentials && !reached().has(name))
    .map(({ name }) => name);
  for (const name of names) run.log(`never got a 2xx: ${name}`);
  return names.length;
}

type Rest = {
  readonly exits: number;
  readonly dead: number;
  readonly rssGrowthMiB: number;
  readonly unreached: number;
};

function conclude({ counts }: Verdict, rest: Rest): Findings {
  return judge(
    { ...counts, ...rest },
    {
      'no response is a server error': counts.serverErrors === 0,
      'every request gets a response': counts.silent + counts.unanswered === 0,
      'every error has the documented form and its request id': counts.misshapen === 0,
      'no hidden request gets a response': counts.smuggled === 0,
      'the program keeps running': rest.exits + rest.dead === 0,
      'its memory stays within 128 MiB of what valid requests take': rest.rssGrowthMiB <= RSS_GROWTH_MIB,
      'valid requests succeed on every route': counts.rightRefused + rest.unreached === 0,
    },
  );
}

const inParallel = (work: () => Promise<void>) => Promise.all(Array.from({ length: CONNECTIONS }, work));

const portOf = ({ gateway }: Stage): number => Number(new URL(String(gateway.ready['address'])).port);

/**
 * Sends valid requests, several at a time and the largest ones among them. Their peak of memory is the baseline for
 * that of malformed ones.
 */
async function warmUp(
  stage: Stage,
  { apiKey, validRequests: rights, restore }: FuzzAccount,
  { noteValidAnswer }: Verdict,
): Promise<void> {
  const destinations = Array.from({ length: 10_000 }, (_, i) => `not a number ${i}`);
  let left = LARGE_REQUESTS;
  await inParallel(async () => {
    while (left-- > 0) await stage.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'x' }] });
  });
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => apiKey);
  for (const [route, wire] of rights) {
    if (wire.method === 'DELETE') await restore();
    await inParallel(async () => noteValidAnswer(route, await sender.send(wire)));
  }
  for (const path of ['/docs/scalar.js', '/openapi.json', '/metrics'])
    await sender.send({ method: 'GET', path, headers: {}, body: undefined });
  await sender.close();
}

type FuzzAccount = {
  readonly apiKey: string;
  readonly validRequests: ReadonlyMap<string, Wire>;
  /** Restores what an account has only one of and a request may have removed. */
  restore(): Promise<unknown>;
};

/** Creates an account with a thing of each kind, and a valid request to each route that has a case. */
async function newAccount({ stage, networks, routes }: Surroundings): Promise<FuzzAccount> {
  const { accountId, apiKey, client } = await stage.newAccount({ plan: 'unlimited' });
  const bare = { accountId, token: `quokka${accountId}`, client, pool: stage.pool, things: new Map() };
  networks.use(await openNetworks(stage, [bare]));
  const party = await withThings(bare, SINGLE_THINGS);
  const rights = new Map<string, Wire>();
  // Requests that delete things come last, so that the others have something to work on.
  for (const route of routes.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))) {
    const tried = CASES[route.name];
    if (tried) rights.set(route.name, wireOf(requestOf(route, tried, party, await freshThings(party, tried))));
  }
  return { apiKey, validRequests: rights, restore: () => withThings(bare, SINGLE_THINGS) };
}

async function fuzz(
  run: Run,
  surroundings: Surroundings,
  first: FuzzAccount,
  { countAnswers, countRefusal, counts }: Verdict,
): Promise<void> {
  const { stage, routes } = surroundings;
  let { apiKey, validRequests: rights } = first;
  let left = SIZES[run.mode];
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => apiKey);
  const attack = async (): Promise<void> => {
    while (left-- > 0) {
      const route = oneOf(run, routes);
      const wire = generate(run, route, rights.get(route.name));
      countAnswers(`${route.name} as ${JSON.stringify(wire)}`, await sender.send(wire), 1, route.name);
    }
  };
  while (left > 0) {
    const rest = Math.max(0, left - REQUESTS_PER_ACCOUNT);
    left -= rest;
    await inParallel(attack);
    left = rest;
    // If a valid request is refused, it is counted, and the fuzzing continues with the same account.
    const next = await newAccount(surroundings).catch(countRefusal);
    if (next) ({ apiKey, validRequests: rights } = next);
    if (counts.requests % 10_000 < REQUESTS_PER_ACCOUNT) run.log(`${counts.requests} requests`);
  }
  await sender.close();
}

/** The peak memory of the process, in MiB; 0 when it has exited, which is reported elsewhere. */
function peakMiB(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
