import { readFileSync } from 'node:fs';
import { createSender, type Outcome, type Reply, sendOctets } from './malformed/exchange.ts';
import { fixedRequests } from './malformed/fixed.ts';
import { generate, type Wire } from './malformed/generate.ts';
import { createExamples } from './examples.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { listRoutes, type Route } from './routes.ts';
import { openStage, type Stage } from './stage.ts';
import { freshThings, requestOf, wireOf } from './tenants/attack.ts';
import { CASES } from './tenants/cases.ts';
import { furnished } from './tenants/party.ts';
import { SINGLE_THINGS } from './tenants/things.ts';

/** Generated requests; about a thousand fixed ones go before them. */
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
    script: {},
    settings: {},
    environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...TIDY },
  });
  const routes = await listRoutes();
  const verdict = createJudge(run);
  const first = await newAccount(stage, routes);
  await warmUp(stage, first);
  const usualPeak = peakMiB(stage.gateway.pid);
  const fixed = fixedRequests(routes, first.apiKey);
  await atOnce(async () => {
    for (let raw = fixed.pop(); raw; raw = fixed.pop())
      verdict.hear(`fixed: ${raw.name}`, await sendOctets(portOf(stage), raw), raw.answers);
  });
  run.say(`${verdict.counts.requests} fixed requests are through`);
  await fuzz(run, stage, routes, first, verdict);
  const alive = (await stage.client.request('GET', '/health/live')).status === 200;
  const rssGrowthMiB = Math.round(peakMiB(stage.gateway.pid) - usualPeak);
  const reached = verdict.reached();
  const unreached = routes.filter(({ closed, name }) => closed && !reached.has(name)).map(({ name }) => name);
  if (run.mode !== 'tiny') for (const name of unreached) run.say(`never answered with 2xx: ${name}`);
  const exits = stage.gateway.running() ? 0 : 1;
  const figures = { routes: routes.length, ...verdict.counts, unreached: unreached.length, exits, rssGrowthMiB };
  return judge(figures, {
    'no answer is an error of the server': figures.serverErrors === 0,
    'every request is answered': figures.silent + figures.unanswered === 0,
    'every error has the documented form and its request id': figures.misshapen === 0,
    'no request hides another one': figures.smuggled === 0,
    'the program runs on': exits === 0 && alive,
    'its memory stays within 128 MiB of what right requests take': rssGrowthMiB <= RSS_GROWTH_MIB,
    'right requests come through to every route':
      figures.rightRefused === 0 && (run.mode === 'tiny' || unreached.length === 0),
  });
}

const atOnce = (work: () => Promise<void>) => Promise.all(Array.from({ length: CONNECTIONS }, work));

const portOf = ({ gateway }: Stage): number => Number(new URL(String(gateway.ready['address'])).port);

/**
 * The peak of memory that right requests make, the largest of them among these and several at a time, is what that of
 * malformed ones is compared with.
 */
async function warmUp(stage: Stage, { apiKey, rights }: Fuzzed): Promise<void> {
  const destinations = Array.from({ length: 10_000 }, (_, i) => `not a number ${i}`);
  let left = LARGE_REQUESTS;
  await atOnce(async () => {
    while (left-- > 0) await stage.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'x' }] });
  });
  const sender = createSender(String(stage.gateway.ready['address']), CONNECTIONS, () => apiKey);
  for (const wire of rights.values()) await atOnce(async () => void (await sender.send(wire)));
  for (const path of ['/docs/scalar.js', '/openapi.json', '/metrics'])
    await sender.send({ method: 'GET', path, headers: {}, body: undefined });
  await sender.close();
}

type Fuzzed = { readonly apiKey: string; readonly rights: ReadonlyMap<string, Wire> };

/** An account with a thing of each kind, and a right request of it to each route that has a case. */
async function newAccount(stage: Stage, routes: readonly Route[]): Promise<Fuzzed> {
  const { accountId, apiKey, client } = await stage.newAccount({ plan: 'unlimited' });
  const bare = { accountId, token: 'quokka', client, pool: stage.pool, things: new Map() };
  const party = await furnished(bare, SINGLE_THINGS);
  const rights = new Map<string, Wire>();
  for (const route of routes) {
    const tried = CASES[route.name];
    if (tried) rights.set(route.name, wireOf(requestOf(route, tried, party, await freshThings(party, tried))));
  }
  return { apiKey, rights };
}

async function fuzz(
  run: Run,
  stage: Stage,
  routes: readonly Route[],
  first: Fuzzed,
  { hear, hearRefusal, counts }: ReturnType<typeof createJudge>,
): Promise<void> {
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
    ({ apiKey, rights } = await newAccount(stage, routes).catch((error: Error) =>
      hearRefusal(error, { apiKey, rights }),
    ));
    if (counts.requests % 10_000 < REQUESTS_AN_ACCOUNT) run.say(`${counts.requests} requests`);
  }
  await sender.close();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function createJudge(run: Run) {
  const counts = {
    requests: 0,
    ok: 0,
    refused: 0,
    away: 0,
    serverErrors: 0,
    silent: 0,
    unanswered: 0,
    misshapen: 0,
    smuggled: 0,
    rightRefused: 0,
  };
  const reached = new Set<string>();
  const tell = createExamples(run);

  function hearReply(what: string, reply: Reply, route: string | undefined): void {
    if (reply.status < 400) counts.ok++;
    else if (reply.status < 500) counts.refused++;
    else if (isAway(reply)) counts.away++;
    else {
      counts.serverErrors++;
      tell(what, `${reply.status} to ${what}: ${reply.body}`);
    }
    if (route !== undefined && (reply.status < 300 || CASES[route]?.answers?.includes(reply.status)))
      reached.add(route);
    const fault = faultOf(reply);
    if (fault === undefined) return;
    counts.misshapen++;
    tell(what, `${fault}, to ${what}: ${reply.body}`);
  }

  return {
    counts,
    reached: (): ReadonlySet<string> => reached,
    /** A right request was refused; the fuzzing goes on as before. */
    hearRefusal(error: Error, before: Fuzzed): Fuzzed {
      counts.rightRefused++;
      tell(error.message, error.message);
      return before;
    },
    hear(what: string, { replies, silent }: Outcome, answers: number, route?: string): void {
      counts.requests++;
      if (silent) counts.silent++;
      if (replies.length < answers) counts.unanswered++;
      if (replies.length > answers) counts.smuggled++;
      if (silent || replies.length !== answers) tell(what, `${replies.length} answers to ${what}`);
      for (const reply of replies) hearReply(what, reply, route);
    },
  };
}

/** Says when to come again, or is the health check, whose 503 is its answer. */
const isAway = ({ status, retryAfter, body }: Reply): boolean =>
  status === 503 && (retryAfter !== '' || body.includes('"checks"'));

/** What is wrong with the form of an answer: its request id, or the shape of an error (contract 1 and 7). */
function faultOf({ status, requestId, body }: Reply): string | undefined {
  if (!UUID.test(requestId)) return `the request id is "${requestId}"`;
  // An answer to HEAD has none.
  if (status < 400 || body === '' || body.includes('"checks"')) return undefined;
  const error: unknown = parsed(body);
  if (typeof error !== 'object' || error === null) return 'the error is no JSON';
  const [own, message] = [Reflect.get(error, 'status'), Reflect.get(error, 'message')];
  if (typeof message !== 'string' || message === '') return 'the error has no message';
  if (own === 'error') return Reflect.get(error, 'code') === status ? undefined : 'the code is not the status';
  if (own !== status || typeof Reflect.get(error, 'error') !== 'string') return 'the error does not name its status';
  return Reflect.get(error, 'requestId') === requestId ? undefined : 'the error has another request id';
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The most memory that the process has ever had; 0 when it is gone, which is told of elsewhere. */
function peakMiB(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
