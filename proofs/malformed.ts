import { readFileSync } from 'node:fs';
import { createSender, sendOctets } from './malformed/exchange.ts';
import { fixedRequests, type RawRequest } from './malformed/fixed.ts';
import { generate, type Wire } from './malformed/generate.ts';
import { createJudge } from './malformed/judge.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { openStage, type Stage } from './stage.ts';
import { freshThings, requestOf, wireOf } from './tenants/attack.ts';
import { CASES } from './tenants/cases.ts';
import { openNetworks } from './tenants/networks.ts';
import { furnished } from './tenants/party.ts';
import { SINGLE_THINGS } from './tenants/things.ts';

/** Generated requests; some three thousand fixed ones go before them. */
const SIZES: Readonly<Record<Mode, number>> = { tiny: 400, quick: 6_000, full: 100_000 };
const CONNECTIONS = 8;
/** Then another account goes on: some requests lock themselves out, or delete the key they came with. */
const REQUESTS_AN_ACCOUNT = 400;
const LARGE_REQUESTS = 60;
/**
 * What is measured is memory that is in use: with a larger heap V8 leaves its garbage lie, and with an arena for each
 * thread the C library keeps what has been freed. Whatever holds on to its memory makes the program end for want of it.
 */
const TIDY = { NODE_OPTIONS: '--max-old-space-size=128', MALLOC_ARENA_MAX: '2' };
const RSS_GROWTH_MIB = 128;

export const malformed: Proof = {
  promise: 'Malformed input is boring: refused in the documented form, and nothing else happens.',
  sabotage: {
    fault: 'the character U+0000 is let through to the database',
    file: new URL('./sabotage/malformed.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'api',
    environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...TIDY },
  });
  const routes = await listRoutes();
  await using networks = new AsyncDisposableStack();
  const ground: Ground = { stage, networks, routes };
  const verdict = createJudge(run);
  const first = await newAccount(ground);
  await warmUp(stage, first, verdict);
  const usualPeak = peakMiB(stage.gateway.pid);
  // In small, every eighth: there are some thirty for each route.
  const fixed = fixedRequests(routes, first.apiKey).filter((_, i) => run.mode !== 'tiny' || i % 8 === 0);
  await sendFixed(stage, fixed, verdict);
  run.say(`${verdict.counts.requests} fixed requests are through`);
  await fuzz(run, ground, first, verdict);
  const rssGrowthMiB = Math.round(peakMiB(stage.gateway.pid) - usualPeak);
  return conclude(verdict, { ...(await standing(stage)), rssGrowthMiB, unreached: unreached(run, routes, verdict) });
}

type Verdict = ReturnType<typeof createJudge>;

type Ground = {
  readonly stage: Stage;
  /** Those of the accounts so far. */
  readonly networks: AsyncDisposableStack;
  readonly routes: readonly Route[];
};

async function sendFixed(stage: Stage, fixed: RawRequest[], { hear }: Verdict): Promise<void> {
  await atOnce(async () => {
    for (let raw = fixed.pop(); raw; raw = fixed.pop())
      hear(`fixed: ${raw.name}`, await sendOctets(portOf(stage), raw), raw.answers);
  });
}

/** Whether the program runs, and answers. */
async function standing({ gateway, client }: Stage) {
  const answered = await client.request('GET', '/health/live').catch(() => null);
  return { exits: gateway.running() ? 0 : 1, dead: answered?.status === 200 ? 0 : 1 };
}

/** Routes that no request has come through to: all that was sent there was refused at the door. */
function unreached(run: Run, routes: readonly Route[], { reached }: Verdict): number {
  const names = routes.filter(({ closed, name }) => closed && !reached().has(name)).map(({ name }) => name);
  for (const name of names) run.say(`never answered with 2xx: ${name}`);
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
      'no answer is an error of the server': counts.serverErrors === 0,
      'every request is answered': counts.silent + counts.unanswered === 0,
      'every error has the documented form and its request id': counts.misshapen === 0,
      'no request hides another one': counts.smuggled === 0,
      'the program runs on': rest.exits + rest.dead === 0,
      'its memory stays within 128 MiB of what right requests take': rest.rssGrowthMiB <= RSS_GROWTH_MIB,
      'right requests come through to every route': counts.rightRefused + rest.unreached === 0,
    },
  );
}

const atOnce = (work: () => Promise<void>) => Promise.all(Array.from({ length: CONNECTIONS }, work));

const portOf = ({ gateway }: Stage): number => Number(new URL(String(gateway.ready['address'])).port);

/**
 * The peak of memory that right requests make, the largest of them among these and several at a time, is what that of
 * malformed ones is compared with.
 */
async function warmUp(stage: Stage, { apiKey, rights, restore }: Fuzzed, { hearRight }: Verdict): Promise<void> {
  const destinations = Array.from({ length: 10_000 }, (_, i) => `not a number ${i}`);
  let left = LARGE_REQUESTS;
  await atOnce(async () => {
    while (left-- > 0) await stage.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'x' }] });
  });
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => apiKey);
  for (const [route, wire] of rights) {
    if (wire.method === 'DELETE') await restore();
    await atOnce(async () => hearRight(route, await sender.send(wire)));
  }
  for (const path of ['/docs/scalar.js', '/openapi.json', '/metrics'])
    await sender.send({ method: 'GET', path, headers: {}, body: undefined });
  await sender.close();
}

type Fuzzed = {
  readonly apiKey: string;
  readonly rights: ReadonlyMap<string, Wire>;
  /** Makes again what an account has one of, and a request may have ended. */
  restore(): Promise<unknown>;
};

/** An account with a thing of each kind, and a right request of it to each route that has a case. */
async function newAccount({ stage, networks, routes }: Ground): Promise<Fuzzed> {
  const { accountId, apiKey, client } = await stage.newAccount({ plan: 'unlimited' });
  const bare = { accountId, token: `quokka${accountId}`, client, pool: stage.pool, things: new Map() };
  networks.use(await openNetworks(stage, [bare]));
  const party = await furnished(bare, SINGLE_THINGS);
  const rights = new Map<string, Wire>();
  // What ends things comes last: until then there is something to be right about.
  for (const route of routes.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))) {
    const tried = CASES[route.name];
    if (tried) rights.set(route.name, wireOf(requestOf(route, tried, party, await freshThings(party, tried))));
  }
  return { apiKey, rights, restore: () => furnished(bare, SINGLE_THINGS) };
}

async function fuzz(run: Run, ground: Ground, first: Fuzzed, { hear, hearRefusal, counts }: Verdict): Promise<void> {
  const { stage, routes } = ground;
  let { apiKey, rights } = first;
  let left = SIZES[run.mode];
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => apiKey);
  const attack = async (): Promise<void> => {
    while (left-- > 0) {
      const route = oneOf(run, routes);
      const wire = generate(run, route, rights.get(route.name));
      hear(`${route.name} as ${JSON.stringify(wire)}`, await sender.send(wire), 1, route.name);
    }
  };
  while (left > 0) {
    const rest = Math.max(0, left - REQUESTS_AN_ACCOUNT);
    left -= rest;
    await atOnce(attack);
    left = rest;
    // When a right request is refused, it is told of, and the fuzzing goes on as before.
    const next = await newAccount(ground).catch(hearRefusal);
    if (next) ({ apiKey, rights } = next);
    if (counts.requests % 10_000 < REQUESTS_AN_ACCOUNT) run.say(`${counts.requests} requests`);
  }
  await sender.close();
}

/** The most memory that the process has ever had; 0 when it is gone, which is told of elsewhere. */
function peakMiB(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
