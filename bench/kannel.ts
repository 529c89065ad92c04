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
const ROUNDS = 2;
const WINDOW = 500;
/** The rate of each kind to that of Kannel. */
const TARGETS = { singles: 2, webhooks: 1, bulk: 8 } as const;
type Kind = 'kannel' | keyof typeof TARGETS;

/** A load of `count` messages, the first with this number; resolves when the result of each is known. */
type Load = (first: number, count: number) => Promise<void>;
type Taken = { readonly seconds: number; readonly messages: number } & Used;
type Used = { readonly cpuSeconds: number; readonly costs?: Costs };
/** Begins to count what a load uses, and returns a function that ends it. */
type Count = () => Promise<(messages: number) => Promise<Used>>;

/**
 * Heliograph beside Kannel, as Debian packages it, in turns on one machine: the same SMSC process, the same load of one
 * message a request over 64 sockets, from the first request to the last result. Kannel binds with a window of 500, keeps
 * its messages and its receipts in memory, logs nothing but panics, and reports the end of each message by an HTTP GET.
 * Heliograph commits everything: single messages whose receipts are stored, single messages with a signed and logged
 * POST over TLS for each of their two events, and bulk requests, which Kannel does not have.
 */
export async function benchKannel(): Promise<Report | NotRun> {
  const missing = kannelIsMissing();
  if (missing !== undefined) return { name: 'kannel', notRun: missing };
  await using opened = new AsyncDisposableStack();
  const { stage, receiver: posts } = opened.use(await openWebhookStage());
  const callbacks = await startReceiver('http');
  opened.defer(callbacks.stop);
  await stage.operate('account', 'change', 'Demo', '--rate-per-minute', '100000000');
  const kannel = await startKannel({
    port: Number(stage.carrier.ready['port']),
    bind: 'trx',
    window: WINDOW,
    user: 'max-messages = 1',
  });
  opened.defer(kannel.close);
  return await compare(stage, kannel, { posts, callbacks });
}

type Receivers = { readonly posts: ReceiverProcess; readonly callbacks: ReceiverProcess };

async function compare(stage: Stage, kannel: RunningKannel, { posts, callbacks }: Receivers): Promise<Report> {
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
    kannel: overKannel(kannel, callbacks),
    singles: overSingles(stage),
    webhooks: withWebhooks(stage, posts),
    bulk: async (_, count) => void (await sendBulk(stage, count)),
  };
  let first = 0;
  const run = async (kind: Kind, share: number): Promise<Taken> => {
    const messages = Math.round((kind === 'bulk' ? BULK : SINGLES) * share);
    const end = await (kind === 'kannel' ? kannels : ours)();
    const start = performance.now();
    await loads[kind](first, messages);
    first += messages;
    return { seconds: (performance.now() - start) / 1000, messages, ...(await end(messages)) };
  };
  const kinds = Object.keys(loads) as Kind[];
  for (const kind of kinds) await run(kind, 0.25);
  const taken: Record<Kind, Taken[]> = { kannel: [], singles: [], webhooks: [], bulk: [] };
  for (let round = 0; round < ROUNDS; round++) for (const kind of kinds) taken[kind].push(await run(kind, 1));
  return reportOf(taken, memoryFigures(stage));
}

const sumOf = (taken: readonly Taken[], read: (one: Taken) => number): number =>
  taken.reduce((sum, one) => sum + read(one), 0);
const perSecond = (taken: readonly Taken[]): number =>
  sumOf(taken, ({ messages }) => messages) / sumOf(taken, ({ seconds }) => seconds);
const cpuMicros = (taken: readonly Taken[]): number =>
  (sumOf(taken, ({ cpuSeconds }) => cpuSeconds) / sumOf(taken, ({ messages }) => messages)) * 1e6;

function reportOf(taken: Readonly<Record<Kind, readonly Taken[]>>, memory: Record<string, number>): Report {
  const rateOfKannel = perSecond(taken.kannel);
  const ratios = Object.entries(TARGETS).map(([kind, target]) => {
    const ratio = perSecond(taken[kind as keyof typeof TARGETS]) / rateOfKannel;
    return { kind, ratio, reached: ratio / target };
  });
  const figures = Object.entries(taken).flatMap(([kind, rounds]) => [
    [`${kind}.messagesPerSecond`, Math.round(perSecond(rounds))],
    [`${kind}.slowestRound`, Math.round(Math.min(...rounds.map((round) => perSecond([round]))))],
    [`${kind}.cpuMicrosPerMessage`, Math.round(cpuMicros(rounds))],
    ...lastCosts(kind, rounds),
  ]);
  return {
    name: 'kannel',
    ratio: Math.min(...ratios.map(({ reached }) => reached)),
    target: 1,
    figures: Object.fromEntries([
      ...figures,
      ...Object.entries(memory),
      ...ratios.flatMap(({ kind, ratio }) => [
        [`${kind}.toKannel`, Math.round(ratio * 100) / 100],
        [`${kind}.target`, TARGETS[kind as keyof typeof TARGETS]],
      ]),
    ]),
  };
}

/** What the last round cost, which is the warmest. */
function lastCosts(kind: string, rounds: readonly Taken[]): [string, number][] {
  const costs = rounds.at(-1)?.costs;
  return costs === undefined ? [] : Object.entries(costFigures(kind, costs));
}

/** The reported ends: mask 3 is delivered and failed (user guide, chapter 7, dlr-mask). */
function overKannel({ sendUrl }: RunningKannel, callbacks: ReceiverProcess): Load {
  const report = `http://127.0.0.1:${callbacks.port}/?type=%d`;
  const user = { username: 'user', password: 'user', from: 'Heliograph', text: BODY };
  const query = new URLSearchParams({ ...user, 'dlr-mask': '3', 'dlr-url': report });
  const { pathname } = new URL(sendUrl);
  return async (first, count) => {
    const target = `${pathname}?${query}&to=%2B{to}`;
    await callbacks.counts();
    await sendRequests({ url: sendUrl, target, method: 'GET', headers: {}, body: '', first, count, status: 202 });
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

function overSingles(stage: Stage): Load {
  const headers = { 'x-api-key': stage.apiKey, 'content-type': 'application/json' };
  const body = JSON.stringify({ phoneNumber: '+{to}', message: BODY });
  const target = '/api/message-server/sms/send';
  return async (first, count) => {
    const before = await deliveredCount(stage);
    await sendRequests({ url: stage.address, target, method: 'POST', headers, body, first, count, status: 200 });
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
