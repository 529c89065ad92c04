import { setTimeout as delay } from 'node:timers/promises';
import { transaction } from '../src/core/db/transaction.ts';
import { topUp } from '../src/money/credit.ts';
import { CAMPAIGNS } from '../test/support/campaigns/campaign.ts';
import { type Ledger, takenByDestination } from './lib/carrier.ts';
import { cutGatewayConnection } from './lib/kills.ts';
import { untilIdle } from './lib/messages.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';
import { READ_THEN_WRITE } from './sabotage/in-database.ts';

type Size = { readonly rounds: number; readonly twins: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { rounds: 3, twins: 50 },
  quick: { rounds: 60, twins: 1000 },
  full: { rounds: 10_000, twins: 1000 },
};
/** Concurrent requests per round, which together cost more than the credit that is there. */
const CONCURRENT_REQUESTS = 50;
/** In runs of at least this many rounds, some campaigns must be funded and some not. */
const MIN_ROUNDS_FOR_BOTH = 20;
/** Campaigns confirmed in each round, at the same time as the requests. */
const CAMPAIGNS_PER_ROUND = 3;
const POLL_MS = 50;
const STALL_TIMEOUT_MS = 20_000;
const CUT_INTERVAL_MS = 300;
/** Last digits of numbers: the carrier refuses, fails, lets the message expire or delivers it. */
const ENDINGS = ['0001', '0002', '0003', '9901', '9902', '9909'];
const BODIES = ['One part', 'A text of two parts costs twice as much as one. '.repeat(5)];
const PLAIN = { channel: 'SMS', prefix: '3930', unitMicros: 35_000, refundUndelivered: false } as const;
const REFUNDING = { channel: 'SMS', prefix: '3931', unitMicros: 49_999, refundUndelivered: true } as const;

export const money: Proof = {
  promise: 'No account spends credit that it does not have, and every millionth is accounted for.',
  sabotage: {
    fault: 'the balance is read first and written afterwards',
    sql: READ_THEN_WRITE,
    breaks: ['the balance equals the sum of the ledger'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { receiptDelayMs: 20 },
    settings: { window: 200 },
    prices: [PLAIN, REFUNDING],
    // The twins come all at once, from one address.
    environment: { MAX_CONNECTIONS_PER_ADDRESS: '3000' },
  });
  const account = await stage.newAccount({ plan: 'production' });
  const races = await race(run, stage, account, size.rounds);
  run.log(`${races.requests} requests competed for the credit; ${races.refused} messages were refused`);
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const books = await untilSettled(stage, account);
  const ledger = await stage.carrier.ledger();
  const due = chargesBy(ledger);
  const twins = await sendTwins(await stage.newAccount({ plan: 'production', creditMicros: 1_000_000 }), size.twins);
  const figures = { ...races, ...books, dueMicros: due, ...twins };
  return judge(figures, {
    'the balance is never below zero': races.belowZero === 0 && books.availableMicros >= 0,
    'the balance equals the sum of the ledger': books.availableMicros === books.bookedMicros,
    'nothing stays reserved': books.frozenMicros === 0 && books.reservedMicros === 0,
    'the earnings equal the price of what the carrier took, less refunds': books.earnedMicros === due,
    'top-ups equal earnings plus balance': books.toppedUpMicros === books.earnedMicros + books.bookedMicros,
    'some requests were refused for lack of credit': races.refused > 0,
    'some campaigns were funded and some were not':
      races.rounds < MIN_ROUNDS_FOR_BOTH ||
      (races.campaignsConfirmed > 0 && races.campaignsConfirmed < races.campaigns),
    'most requests got a response': races.failedRequests < races.requests / 2,
    'requests with the same globalId create one batch': twins.winners === 1 && twins.twinsFailed === 0,
  });
}

/** Runs rounds of concurrent requests for insufficient credit, while connections to PostgreSQL are cut. */
async function race(run: Run, stage: Stage, account: Account, rounds: number) {
  const counts = {
    rounds,
    requests: 0,
    accepted: 0,
    refused: 0,
    failedRequests: 0,
    belowZero: 0,
    connectionsCut: 0,
    campaigns: 0,
    campaignsConfirmed: 0,
  };
  let next = 0;
  let racing = true;

  async function request(): Promise<void> {
    const destinations = Array.from({ length: between(run, 1, 4) }, () => numberFor(run, next++));
    counts.requests++;
    const answer = await account.client
      .bulk({ messages: [{ destinations, sender: 'Acme', body: oneOf(run, BODIES) }] })
      .catch(() => null);
    if (!answer) return void counts.failedRequests++;
    counts.accepted += answer.accepted;
    counts.refused += answer.results.length - answer.accepted;
  }

  /** Creates a campaign and returns a function that confirms it; null if it could not be created. */
  async function prepareCampaign(): Promise<(() => Promise<void>) | null> {
    const destinations = Array.from({ length: between(run, 1, 5) }, () => mobileFor(run, next++));
    const sms = { sendingMode: 'SMS', smsSender: 'Acme', smsBody: oneOf(run, BODIES) };
    const body = { name: 'Race', ...sms, destinations, readyToSend: true };
    const ask = (method: string, path: string) =>
      account.client.request(method, `${CAMPAIGNS}${path}`, { body: path === '' ? body : undefined }).catch(() => null);
    const id = (await ask('POST', ''))?.body;
    if (typeof id !== 'object' || id === null || !('id' in id)) return null;
    const path = `/${String(id.id)}`;
    if ((await ask('POST', `${path}/calculateGoal`))?.status !== 200) return null;
    counts.campaigns++;
    return async () => {
      if ((await ask('PUT', `${path}/confirm`))?.status === 202) counts.campaignsConfirmed++;
    };
  }

  const cutting = (async () => {
    for (; racing; await delay(between(run, 1, 2 * CUT_INTERVAL_MS)))
      counts.connectionsCut += await cutGatewayConnection(stage).catch(() => 0);
  })();
  for (let round = 0; round < rounds; round++) {
    const campaigns = await Promise.all(Array.from({ length: CAMPAIGNS_PER_ROUND }, prepareCampaign));
    const micros = between(run, 1, 60) * PLAIN.unitMicros;
    await transaction(stage.pool, (tx) => topUp(tx, { accountId: account.accountId, micros, reference: 'proof' }));
    await Promise.all([
      ...Array.from({ length: CONCURRENT_REQUESTS }, request),
      ...campaigns.map((confirm) => confirm?.()),
    ]);
    if ((await readBalances(stage, account)).availableMicros < 0) counts.belowZero++;
  }
  racing = false;
  await cutting;
  return counts;
}

const numberFor = (run: Run, n: number): string =>
  `+${oneOf(run, [PLAIN, REFUNDING]).prefix}${String(n).padStart(6, '0')}${oneOf(run, ENDINGS)}`;

/**
 * A number that a campaign accepts, valid in its country. Numbers repeat after 10,000; the last digits choose the
 * outcome.
 */
const mobileFor = (run: Run, n: number): string =>
  `+${REFUNDING.prefix}${String(n % 10_000).padStart(4, '0')}${oneOf(run, ENDINGS)}`;

/**
 * Returns the charges of the account in millionths according to the carrier's ledger: the price of every accepted part,
 * except those refunded when undelivered.
 */
function chargesBy(ledger: Ledger): number {
  const delivered = new Set(ledger.receipts.filter(({ text }) => text === 'DELIVRD').map(({ source }) => `+${source}`));
  let micros = 0;
  for (const [number, submits] of takenByDestination(ledger)) {
    const price = number.startsWith(`+${PLAIN.prefix}`) ? PLAIN : REFUNDING;
    if (!price.refundUndelivered || delivered.has(number)) micros += submits.length * price.unitMicros;
  }
  return micros;
}

/**
 * Waits until no credit is reserved any more, and returns the balances. A receipt that overtakes the response to its
 * submit is parked for a moment, and its credit stays reserved until then. After a deadline, returns the balances as
 * they are.
 */
export async function untilSettled(stage: Stage, account: Account) {
  const end = performance.now() + STALL_TIMEOUT_MS;
  let books = await readBalances(stage, account);
  while (books.reservedMicros !== 0 && performance.now() < end) {
    await delay(POLL_MS);
    books = await readBalances(stage, account);
  }
  return books;
}

/** Reads the balances of an account, and the sums of its ledger by book. */
export async function readBalances({ pool }: { readonly pool: Pick<Stage['pool'], 'query'> }, { accountId }: Account) {
  const { rows } = await pool.query(
    `WITH side AS (
       SELECT to_book AS book, amount_micros AS micros FROM ledger_entry WHERE account_id = $1
       UNION ALL SELECT from_book, -amount_micros FROM ledger_entry WHERE account_id = $1)
     SELECT (SELECT available_micros FROM credit_balance WHERE account_id = $1) AS "availableMicros",
            (SELECT coalesce(sum(micros), 0)::bigint FROM credit_frozen WHERE account_id = $1) AS "reservedMicros",
            coalesce(sum(micros) FILTER (WHERE book = 'available'), 0)::bigint AS "bookedMicros",
            coalesce(sum(micros) FILTER (WHERE book = 'frozen'), 0)::bigint AS "frozenMicros",
            coalesce(sum(micros) FILTER (WHERE book = 'earned'), 0)::bigint AS "earnedMicros",
            coalesce(-sum(micros) FILTER (WHERE book = 'outside'), 0)::bigint AS "toppedUpMicros"
     FROM side`,
    [accountId],
  );
  return rows[0] as Record<
    'availableMicros' | 'reservedMicros' | 'bookedMicros' | 'frozenMicros' | 'earnedMicros' | 'toppedUpMicros',
    number
  >;
}

/**
 * Sends the same request many times at once. Each must get the response of the one that wins, or learn that it is in
 * progress.
 */
async function sendTwins({ client }: Account, twins: number) {
  const body = { globalId: 'twins', messages: [{ destinations: ['+393000000001'], sender: 'Acme', body: 'Once' }] };
  const answers = await Promise.all(Array.from({ length: twins }, () => client.request('POST', BULK, { body })));
  const ids = answers.flatMap(({ status, body: answer }) => (status === 200 ? [idsIn(answer)] : []));
  return { twins, winners: new Set(ids).size, twinsFailed: answers.filter(({ status }) => status >= 500).length };
}

const BULK = '/services/sms/send';
const idsIn = (answer: unknown): string => JSON.stringify(answer, ['results', 'id']);
