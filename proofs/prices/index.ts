import { insertPrice } from '../../src/money/prices.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { until } from '../../test/support/until.ts';
import { type Crew, killPoints, killPostgres, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import { untilIdle } from '../lib/messages.ts';
import { pollUntilDone } from '../lib/poll.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { type Account, openStage, type Stage } from '../lib/stage.ts';
import { NO_WINDOWS, UNKNOWN_NOT_HELD } from '../sabotage/in-database.ts';
import { type Books, closeBooks, collectEvidence } from './due.ts';
import { MUST_BE_CHARGED, PRICE_LIST } from './list.ts';
import { openRcs, openWhatsapp, type Whatsapp } from './networks.ts';
import { cancelLater, MESSAGES, sendAll } from './send.ts';
import { type Planned, planTraffic, WRITERS } from './traffic.ts';

type Size = { readonly messages: number; readonly kills: number; readonly postgresKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 800, kills: 3, postgresKills: 1 },
  quick: { messages: 6000, kills: 12, postgresKills: 3 },
  full: { messages: 100_000, kills: 400, postgresKills: 30 },
};
const WORKERS = 2;
const CREDIT_MICROS = 1_000_000_000_000;
const STALL_TIMEOUT_MS = 30_000;
const POLL_MS = 300;

const PRICED = 'every message has the price that the list has for it';
const EARNED = 'the earnings are the prices of what the networks took, less refunds';

export const prices: Proof = {
  promise: 'Whatever is killed, mixed messages cost what the price list says, to the last millionth.',
  sabotage: {
    fault: 'the window that an inbound message opens is not stored',
    sql: NO_WINDOWS,
    breaks: [PRICED, EARNED],
    mode: 'tiny',
  },
  prove,
};

/** Another fault of the same proof, which only kills bring to light. */
export const pricesUnknown: Proof = {
  promise: prices.promise,
  isVariant: true,
  sabotage: {
    fault: 'the price of a message with an unknown outcome is forgotten',
    sql: UNKNOWN_NOT_HELD,
    breaks: [EARNED],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(
    await openStage(run, {
      gateway: 'api',
      script: { responseDelayMs: 10, receiptDelayMs: 50, earlyReceiptShare: 0.1 },
      settings: { window: 10 },
    }),
  );
  const accounts = [await newAccount(stage), await newAccount(stage)] as const;
  const rbm = await openRcs(run, stage);
  opened.defer(rbm.close);
  const numbers: Whatsapp[] = [];
  for (const { accountId } of accounts) {
    const number = await openWhatsapp(run, stage, accountId);
    opened.defer(number.graph.close);
    numbers.push(number);
  }
  await setUpPrices(stage, accounts);
  for (const { graph } of numbers) await Promise.all(WRITERS.map((writer) => write(graph, writer)));

  const plan = planTraffic(run, size.messages);
  const crew = await startCrew(run, stage, WORKERS);
  const sending = sendAll(run, plan, accounts, numbers);
  const postgresKills = await killWhile(run, stage, crew, { ...size, submits: plan.filter(isSentSms).length });
  const sent = await sending;
  run.log(`${sent.ids.size} messages are accepted`);
  await cancelLater(plan, sent, accounts);
  await untilIdle(stage, STALL_TIMEOUT_MS);
  await pollUntilDone(
    () => {
      const owed = rbm.waiting() + numbers.reduce((sum, { graph }) => sum + graph.pending(), 0);
      return { done: owed === 0, progress: owed };
    },
    { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: POLL_MS },
  );

  const evidence = await collectEvidence(stage, rbm, numbers);
  const books: Books[] = [];
  for (const [place, account] of accounts.entries()) {
    const own = plan.filter((message) => message.account === place);
    books.push(await closeBooks(run, stage, { account, own, ids: sent.ids, evidence }));
  }
  const sum = (key: keyof Books): number => books.reduce((total, each) => total + each[key], 0);
  const charged = new Set(plan.map(({ row }) => row));
  const figures = {
    messages: plan.length,
    rejected: sent.rejected,
    repeatedRequests: sent.repeated,
    stored: sum('stored'),
    missing: sum('missing'),
    wrongPrices: sum('wrongPrices'),
    earnedMicros: sum('earnedMicros'),
    differenceMicros: sum('differenceMicros'),
    frozenMicros: sum('frozenMicros'),
    unknown: sum('unknown'),
    open: sum('open'),
    unbalanced: sum('unbalanced'),
    notCharged: MUST_BE_CHARGED.filter((row) => !charged.has(row)).length,
    kills: crew.kills,
    postgresKills,
  };
  return judge(figures, {
    'every message was accepted, and is stored once':
      figures.rejected === 0 && figures.missing === 0 && figures.stored === plan.length,
    [PRICED]: figures.wrongPrices === 0,
    [EARNED]: figures.differenceMicros === 0,
    'what stays frozen are the prices of messages in doubt, and the balance is the rest': figures.unbalanced === 0,
    'every message has ended': figures.open === 0,
    'every price of the list counted for some message': figures.notCharged === 0,
    'all kills took place': crew.kills === size.kills && postgresKills === size.postgresKills,
  });
}

const newAccount = (stage: Stage): Promise<Account> =>
  stage.newAccount({ plan: 'production', creditMicros: CREDIT_MICROS });

const isSentSms = ({ channel, isLater }: Planned): boolean => channel === 'SMS' && !isLater;

/** Sets up the price list, and waits until the gateway knows it. */
async function setUpPrices(stage: Stage, [, own]: readonly [Account, Account]): Promise<void> {
  await stage.pool.query('DELETE FROM price');
  for (const { account, ...row } of PRICE_LIST)
    await insertPrice(stage.pool, { ...row, ...(account && { accountId: own.accountId }) });
  await notifyRoutingChange(stage.pool);
  const sms = { channel: 'SMS', destination: '+628121234567', sender: 'Acme', text: 'x' };
  await until('the prices', async () => {
    const { body } = await own.client.request('POST', `${MESSAGES}/preview`, { body: sms });
    return (body as { price?: number }).price === 0.060013;
  });
}

type Writer = (typeof WRITERS)[number];

/** Has a person write to a number of ours, which opens their window. */
async function write(graph: Whatsapp['graph'], { from, more }: Writer): Promise<void> {
  const { acked } = await graph.injectInbound({ from, text: 'Hello', more });
  if (!acked) throw new Error('an inbound message was not taken');
}

type Killing = Size & { readonly submits: number };

/** Kills workers and PostgreSQL at random points of the traffic; returns how often PostgreSQL was killed. */
async function killWhile(run: Run, stage: Stage, crew: Crew, { kills, postgresKills, submits }: Killing) {
  const killPostgresAt = new Set(killPoints(run, postgresKills, submits));
  const points = [...killPoints(run, kills, submits), ...killPostgresAt].sort((a, b) => a - b);
  for (const [n, point] of points.entries()) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (killPostgresAt.delete(point)) await killPostgres(run, stage, crew);
    else await crew.killOne();
    if ((n + 1) % Math.ceil(points.length / 10) === 0) run.log(`${n + 1} kills at ${point} submits`);
  }
  await crew.allStarted();
  return postgresKills - killPostgresAt.size;
}
