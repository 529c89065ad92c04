import { kannelIsMissing, type RunningKannel, startKannel } from '../test/support/interop/peers/kannel.ts';
import { API } from './lib/backend.ts';
import { type Costs, costFigures, countCosts, cpuMicrosOf, memoryFigures } from './lib/costs.ts';
import { cpuSecondsOf } from './lib/processes.ts';
import type { NotRun, Report } from './lib/report.ts';
import { sendRequests } from './lib/requests-process.ts';
import { deliveredCount, type Stage, sendBulk, until } from './lib/stage.ts';
import { BODY } from './lib/traffic.ts';
import { type ReceiverProcess, startReceiver } from './lib/webhook-receiver.ts';
import { openWebhookStage } from './lib/webhook-stage.ts';

const SINGLES = Number(process.argv[3] ?? 40_000);
/** A multiple of the destinations of one request. */
const BULK = SINGLES * 5;
/** The rows to measure; all if none is named. */
const KINDS: readonly string[] = process.argv.slice(4);
const ROUNDS = 5;
const WINDOW = 500;
/** CPU of a message at most, as a multiple of that of Kannel over 64 sockets. */
const TARGETS = { singles: 0.6, webhooks: 1.3, bulk: 0.16 } as const;
type Kind = 'kannel' | 'kannel256' | 'kannelTls' | 'singles256' | keyof typeof TARGETS;

/** A load of `count` messages, the first with this number; resolves when the result of each is known. */
type Load = (first: number, count: number) => Promise<void>;
type Taken = { readonly seconds: number; readonly messages: number } & Used;
type Used = { readonly cpuSeconds: number; readonly costs?: Costs };
/** Begins to count what a load uses, and returns a function that ends it. */
type Count = () => Promise<(messages: number) => Promise<Used>>;

/**
 * Heliograph next to Kannel, as Debian packages it, in turns on one machine: the same SMSC process, the same load of one
 * message a request over 64 sockets (and over 256), from the first request to the last result. The median round counts,
 * the targets are of CPU time. Kannel binds with a window of 500, keeps its messages and its receipts in memory, logs
 * nothing but panics, and reports the end of each message by an HTTP GET; in one row over TLS, without checking the
 * certificate. Heliograph commits everything: single messages whose receipts are stored, single messages with a signed
 * and logged POST over TLS for each of their two events, and bulk requests; Kannel's requests with several receivers are
 * not measured.
 */
export async function benchKannel(): Promise<Report | NotRun> {
  const missing = kannelIsMissing();
  if (missing !== undefined) return { name: 'kannel', notRun: missing };
  await using opened = new AsyncDisposableStack();
  const { stage, receiver: posts } = opened.use(await openWebhookStage());
  const callbacks = await startReceiver('http');
  opened.defer(callbacks.stop);
  const callbacksTls = await startReceiver();
  opened.defer(callbacksTls.stop);
  await stage.operate('account', 'change', 'Demo', '--rate-per-minute', '100000000');
  const kannel = await startKannel({
    port: Number(stage.carrier.ready['port']),
    bind: 'trx',
    window: WINDOW,
    user: 'max-messages = 1',
  });
  opened.defer(kannel.close);
  return await compare(stage, kannel, { posts, callbacks, callbacksTls });
}

type Receivers = Readonly<Record<'posts' | 'callbacks' | 'callbacksTls', ReceiverProcess>>;

async function compare(
  stage: Stage,
  kannel: RunningKannel,
  { posts, callbacks, callbacksTls }: Receivers,
): Promise<Report> {
  const ours: Count = async () => {
    const costsOf = await countCosts(stage);
    return async (messages) => {
      const costs = await costsOf(messages);
      return { cpuSeconds: (cpuMicrosOf(costs) * messages) / 1e6, costs };
    };
  };
  const kannels: Count = () => {
    const used = (): number => kannel.pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
    const before = used();
    return Promise.resolve(() => Promise.resolve({ cpuSeconds: used() - before }));
  };
  const loads: Readonly<Record<Kind, Load>> = {
    kannel: overKannel(kannel, callbacks, 'http'),
    kannel256: overKannel(kannel, callbacks, 'http', 256),
    kannelTls: overKannel(kannel, callbacksTls, 'https'),
    singles: overSingles(stage),
    singles256: overSingles(stage, 256),
    webhooks: withWebhooks(stage, posts),
    bulk: async (_, count) => void (await sendBulk(stage, count)),
  };
  let first = 0;
  const run = async (kind: Kind, share: number): Promise<Taken> => {
    const messages = Math.round((kind === 'bulk' ? BULK : SINGLES) * share);
    const end = await (kind.startsWith('kannel') ? kannels : ours)();
    const start = performance.now();
    await loads[kind](first, messages);
    first += messages;
    return { seconds: (performance.now() - start) / 1000, messages, ...(await end(messages)) };
  };
  const kinds = (Object.keys(loads) as Kind[]).filter((kind) => KINDS.length === 0 || KINDS.includes(kind));
  for (const kind of kinds) await run(kind, 0.25);
  const taken = Object.fromEntries(kinds.map((kind) => [kind, [] as Taken[]])) as Record<Kind, Taken[]>;
  for (let round = 0; round < ROUNDS; round++) for (const kind of kinds) taken[kind].push(await run(kind, 1));
  return reportOf(taken, memoryFigures(stage));
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const perSecond = (taken: readonly Taken[]): number => median(taken.map((one) => one.messages / one.seconds));
const cpuMicros = (taken: readonly Taken[]): number =>
  median(taken.map((one) => (one.cpuSeconds / one.messages) * 1e6));

function reportOf(taken: Readonly<Record<Kind, readonly Taken[]>>, memory: Record<string, number>): Report {
  const shareOf = (read: (rounds: readonly Taken[]) => number, kind: Kind): number =>
    Math.round((read(taken[kind]) / read(taken.kannel)) * 100) / 100;
  const kinds = Object.keys(taken) as Kind[];
  const figures = kinds.flatMap((kind) => [
    [`${kind}.messagesPerSecond`, Math.round(perSecond(taken[kind]))],
    [`${kind}.slowestRound`, Math.round(Math.min(...taken[kind].map((round) => perSecond([round]))))],
    [`${kind}.cpuMicrosPerMessage`, Math.round(cpuMicros(taken[kind]))],
    [`${kind}.rateToKannel`, shareOf(perSecond, kind)],
    [`${kind}.cpuToKannel`, shareOf(cpuMicros, kind)],
    ...lastCosts(kind, taken[kind]),
  ]);
  const targets = (Object.entries(TARGETS) as [keyof typeof TARGETS, number][]).filter(([kind]) => kind in taken);
  return {
    name: 'kannel',
    ratio: Math.min(...targets.map(([kind, target]) => target / shareOf(cpuMicros, kind))),
    target: 1,
    figures: Object.fromEntries([
      ...figures,
      ...Object.entries(memory),
      ...targets.map(([kind, target]) => [`${kind}.cpuTarget`, target]),
    ]),
  };
}

/** Returns the costs of the last round, in which caches and compiled code are warmest, as figures of the report. */
function lastCosts(kind: string, rounds: readonly Taken[]): [string, number][] {
  const costs = rounds.at(-1)?.costs;
  return costs === undefined ? [] : Object.entries(costFigures(kind, costs));
}

/** The reported ends: mask 3 is delivered and failed (user guide, chapter 7, dlr-mask). */
function overKannel(
  { sendUrl }: RunningKannel,
  callbacks: ReceiverProcess,
  scheme: 'http' | 'https',
  sockets?: number,
): Load {
  const report = `${scheme}://127.0.0.1:${callbacks.port}/?type=%d`;
  const user = { username: 'user', password: 'user', from: 'Heliograph', text: BODY };
  const query = new URLSearchParams({ ...user, 'dlr-mask': '3', 'dlr-url': report });
  const { pathname } = new URL(sendUrl);
  return async (first, count) => {
    const target = `${pathname}?${query}&to=%2B{to}`;
    await callbacks.counts();
    const requests = { url: sendUrl, target, method: 'GET', headers: {}, body: '', status: 202 } as const;
    await sendRequests({ ...requests, first, count, ...(sockets !== undefined && { sockets }) });
    await untilReceived(callbacks, count);
  };
}

/** The counts of a receiver begin again each time. */
async function untilReceived(receiver: ReceiverProcess, count: number): Promise<void> {
  let received = 0;
  await until(async () => {
    received += (await receiver.counts()).received;
    return received >= count;
  });
}

function overSingles(stage: Stage, sockets?: number): Load {
  const headers = { 'x-api-key': stage.apiKey, 'content-type': 'application/json' };
  const body = JSON.stringify({ phoneNumber: '+{to}', message: BODY });
  const target = '/api/message-server/sms/send';
  return async (first, count) => {
    const before = await deliveredCount(stage);
    const requests = { url: stage.address, target, method: 'POST', headers, body, status: 200 } as const;
    await sendRequests({ ...requests, first, count, ...(sockets !== undefined && { sockets }) });
    await until(async () => (await deliveredCount(stage)) >= before + count);
  };
}

function withWebhooks(stage: Stage, posts: ReceiverProcess): Load {
  const send = overSingles(stage);
  const headers = { 'x-api-key': stage.apiKey, 'content-type': 'application/json' };
  const url = `${stage.address}${API}/webhooks/delivery-status`;
  return async (first, count) => {
    const webhook = JSON.stringify({ callbackUrl: `https://localhost:${posts.port}/` });
    const registered = await fetch(url, { method: 'POST', headers, body: webhook });
    if (!registered.ok) throw new Error(`the webhook: ${registered.status} ${await registered.text()}`);
    await posts.counts();
    await send(first, count);
    await untilReceived(posts, 2 * count);
    await fetch(url, { method: 'DELETE', headers: { 'x-api-key': stage.apiKey } });
  };
}
