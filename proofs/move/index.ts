import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { mobileOf, sendCampaign } from '../lib/campaigns.ts';
import { compare, hasEnded } from '../lib/compare.ts';
import { type Crew, startCrew } from '../lib/kills.ts';
import { exportStatuses, listEverUnknown, type StatusRecord } from '../lib/messages.ts';
import { pollUntilDone } from '../lib/poll.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import type { Account, Stage } from '../lib/stage.ts';
import { QUEUE_STAYS } from '../sabotage/in-database.ts';
import { compare as compareEvents } from '../webhooks/compare.ts';
import { type Receivers, startReceivers } from '../webhooks/receivers.ts';
import { type Cells, openCells } from './cells.ts';
import { type MoveResult, runMove } from './mover.ts';
import { startTraffic, type Traffic } from './traffic.ts';

/**
 * Every other move is killed once, and then run again. In the other moves, a worker is killed. The account sends all the time, and
 * each move copies all that it has ever sent: a hundred moves would take days.
 */
type Size = { readonly moves: number; readonly bulk: number; readonly recipients: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { moves: 2, bulk: 50, recipients: 100 },
  quick: { moves: 8, bulk: 200, recipients: 2000 },
  full: { moves: 40, bulk: 50, recipients: 20_000 },
};
const WINDOW = 10;
/** Time besides the copy: work in progress, and receivers that do not respond. */
const MAX_HELD_MS = 10_000;
const LEAST_ROWS_PER_SECOND = 10_000;
/** Delay of the receipts: some come after the move. */
const RECEIPT_DELAY_MS = 1500;
const STALL_TIMEOUT_MS = 60_000;
const BETWEEN_MOVES_MS = 1000;
const POLL_MS = 100;
const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';
const CREDIT_MICROS = 1_000_000_000_000;

export const move: Proof = {
  promise:
    'An account moves to another cell while it is held for seconds: nothing is lost or sent twice, and its money stays right.',
  timed: true,
  sabotage: {
    fault: 'the queue of the account stays in the cell that it leaves',
    sql: QUEUE_STAYS,
    breaks: ['nothing is lost'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using receivers = await startReceivers(run);
  const caFile = join(run.folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  await using cells = await openCells(run, {
    gateway: 'api',
    script: { responseDelayMs: 5, receiptDelayMs: RECEIPT_DELAY_MS },
    settings: { window: WINDOW, binds: 1 },
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receivers.port),
      WEBHOOK_CA_FILE: caFile,
    },
  });
  const [first, second] = cells.stages;
  const crews = [await startCrew(run, first, 1), await startCrew(run, second, 1)] as const;
  const account = await first.newAccount({ plan: 'production', creditMicros: CREDIT_MICROS });
  const secret = await register(account, receivers);
  const recipients = Array.from({ length: size.recipients }, (_, n) => mobileOf(n));
  const campaignId = await sendCampaign(account.client, recipients);
  await using traffic = startTraffic(cells, account, size.bulk);

  const results = await moveBackAndForth(run, { cells, account, traffic, crews }, size.moves);
  await traffic.stop();
  for (const crew of crews) await crew.allStarted();
  const home = cells.stages[size.moves % 2] ?? first;
  const ids = [...traffic.ids, ...(await untilCampaignMade(home, campaignId, size.recipients))];
  const client = await traffic.client();
  const records = await exportStatuses({ ...home, client }, ids, hasEnded, STALL_TIMEOUT_MS);
  const everUnknown = (await Promise.all(cells.stages.map(listEverUnknown))).reduce((all, some) => all.union(some));
  const events = await untilEvents(receivers, { records, everUnknown, secret });
  return await judgeMoves(cells, { account, home, ids, records, everUnknown, results, traffic, crews, events });
}

async function register({ client }: Account, receivers: Receivers): Promise<string> {
  const { status, body } = await client.request('POST', WEBHOOK, { body: { callbackUrl: receivers.urlOf('good') } });
  if (status !== 201) throw new Error(`returned ${status}: ${JSON.stringify(body)}`);
  return (body as { secret: string }).secret;
}

type Stagehands = {
  readonly cells: Cells;
  readonly account: Account;
  readonly traffic: Traffic;
  readonly crews: readonly [Crew, Crew];
};

async function moveBackAndForth(
  run: Run,
  { cells, account, traffic, crews }: Stagehands,
  moves: number,
): Promise<MoveResult[]> {
  const results: MoveResult[] = [];
  for (let n = 0; n < moves; n++) {
    await delay(BETWEEN_MOVES_MS);
    const to = (n + 1) % 2;
    const { environment } = cells.stages[n % 2] ?? cells.stages[0];
    const moving = { accountId: account.accountId, to, environment };
    const once = async (kill: boolean): Promise<MoveResult> => {
      const result = await runMove(run, moving, kill);
      results.push(result);
      return result;
    };
    const killing = n % 2 === 1 ? crews[n % 4 === 1 ? 0 : 1].killOne() : undefined;
    if ((await once(n % 2 === 0)).killed) await once(false);
    await killing;
    run.log(`move ${n + 1}: ${JSON.stringify(results.at(-1))}, ${traffic.ids.length} messages accepted`);
  }
  return results;
}

/** Waits until a campaign has made its messages; returns their ids. */
async function untilCampaignMade({ pool }: Stage, id: number, recipients: number): Promise<string[]> {
  const list = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM message WHERE campaign_id = $1', [id]);
    return rows.map((row) => row.id);
  };
  await pollUntilDone(
    async () => {
      const count = (await list()).length;
      return { done: count >= recipients, progress: count };
    },
    { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: POLL_MS },
  );
  return list();
}

/** The codes of the events of a message that is delivered. Whether its carrier accepted it may have been unknown. */
const CODES = [1, 3];
const CODES_WITHOUT_RESPONSE = [3];

type Reported = {
  readonly records: readonly StatusRecord[];
  readonly everUnknown: ReadonlySet<string>;
  readonly secret: string;
};

/** Waits until the receiver has the events of all delivered messages, and compares them. */
async function untilEvents({ received }: Receivers, { records, everUnknown, secret }: Reported) {
  const expected = records
    .filter(({ deliveryStatus }) => deliveryStatus === 'DELIVERED')
    .map(({ messageId }) => ({
      behaviour: 'good' as const,
      messageId,
      codes: everUnknown.has(messageId) ? CODES_WITHOUT_RESPONSE : CODES,
    }));
  const missing = new Set(expected.flatMap(({ messageId, codes }) => codes.map((code) => `${messageId}/${code}`)));
  let seen = 0;
  await pollUntilDone(
    () => {
      // Only what is new: comparing everything takes seconds, in the process that responds to the gateway.
      for (const { request } of received.slice(seen)) missing.delete(eventOf(request.body));
      seen = received.length;
      return { done: missing.size === 0, progress: missing.size };
    },
    { stallTimeoutMs: STALL_TIMEOUT_MS, pollMs: 10 * POLL_MS },
  );
  return compareEvents(expected, received, { good: secret, flaky: '', hostile: '' });
}

/** The event in a request, as its message and its code. */
function eventOf(body: string): string {
  const { messageId, statusCode } = JSON.parse(body) as { messageId: string; statusCode: number };
  return `${messageId}/${statusCode}`;
}

type Evidence = Omit<Stagehands, 'cells'> & {
  readonly home: Stage;
  readonly ids: readonly string[];
  readonly records: readonly StatusRecord[];
  readonly everUnknown: ReadonlySet<string>;
  readonly results: readonly MoveResult[];
  readonly events: ReturnType<typeof compareEvents>;
};

async function judgeMoves({ stages }: Cells, evidence: Evidence): Promise<Findings> {
  const { account, home, ids, records, everUnknown, results, traffic, crews, events } = evidence;
  const ledgers = await Promise.all(stages.map(({ carrier }) => carrier.ledger()));
  const ledger = {
    submits: ledgers.flatMap(({ submits }) => submits),
    receipts: ledgers.flatMap(({ receipts }) => receipts),
  };
  const holds = results.flatMap(({ heldMs, rows }) => (heldMs === null ? [] : [{ heldMs, rows }]));
  const rates = holds.map(({ heldMs, rows }) => Math.round((1000 * rows) / heldMs));
  const kills = crews[0].kills + crews[1].kills;
  const books = await untilSettled(home, account);
  const figures = {
    ...compare({ ids, records, unknownOutcomes: [], everUnknown, ledger }),
    unknownBound: kills * WINDOW,
    moves: results.filter(({ killed }) => !killed).length,
    movesKilled: results.filter(({ killed }) => killed).length,
    workersKilled: kills,
    longestHeldMs: Math.max(0, ...holds.map(({ heldMs }) => heldMs)),
    mostRows: Math.max(0, ...holds.map(({ rows }) => rows)),
    slowestRowsPerSecond: Math.min(...rates),
    fastestRowsPerSecond: Math.max(...rates),
    longestWaitMs: traffic.longestMs(),
    refused: traffic.refused(),
    sentByFirst: ledgers[0]?.submits.length ?? 0,
    sentBySecond: ledgers[1]?.submits.length ?? 0,
    passedOn: await countPassedOn(stages),
    events: events.events,
    eventsSentTwice: events.acknowledgedTwice,
    eventsMissing: events.undelivered.length,
    eventsOutOfOrder: events.outOfOrder,
    eventsWithSeveralIds: events.withSeveralIds,
    ...books,
  };
  return judge(figures, {
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= worker kills x window': figures.inDoubt <= figures.unknownBound,
    'the account is held for at most 10 s, and a second for each 10,000 rows':
      holds.length > 0 &&
      holds.every(({ heldMs, rows }) => heldMs <= MAX_HELD_MS + (1000 * rows) / LEAST_ROWS_PER_SECOND),
    'both cells have sent': figures.sentByFirst > 0 && figures.sentBySecond > 0,
    'receipts that arrived in the former cell were passed on': figures.passedOn > 0,
    'every event reached its receiver, those of a message in order and under one id':
      events.undelivered.length === 0 && events.outOfOrder === 0 && events.withSeveralIds === 0,
    'the balance equals the sum of the ledger': books.availableMicros === books.bookedMicros,
    'nothing stays reserved': books.frozenMicros === 0 || figures.unknown > 0,
  });
}

async function countPassedOn(stages: Cells['stages']): Promise<number> {
  const counts = await Promise.all(
    stages.map(async ({ pool }) => Number((await pool.query('SELECT count(*) FROM passed_on_seen')).rows[0].count)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Waits until no credit is reserved any more; returns the books as they are when that takes too long. */
async function untilSettled(home: Stage, account: Account) {
  await pollUntilDone(
    async () => {
      const { frozenMicros } = await readBooks(home, account);
      return { done: frozenMicros === 0, progress: frozenMicros };
    },
    { stallTimeoutMs: STALL_TIMEOUT_MS / 6, pollMs: POLL_MS },
  );
  return readBooks(home, account);
}

async function readBooks({ pool }: Stage, { accountId }: Account) {
  const { rows } = await pool.query<Record<'availableMicros' | 'frozenMicros' | 'bookedMicros', number>>(
    `SELECT (SELECT available_micros FROM credit_balance WHERE account_id = $1) AS "availableMicros",
            (SELECT coalesce(sum(micros), 0)::bigint FROM credit_frozen WHERE account_id = $1) AS "frozenMicros",
            (SELECT coalesce(sum(CASE WHEN to_book = 'available' THEN amount_micros ELSE 0 END)
                           - sum(CASE WHEN from_book = 'available' THEN amount_micros ELSE 0 END), 0)::bigint
             FROM ledger_entry WHERE account_id = $1) AS "bookedMicros"`,
    [accountId],
  );
  return rows[0] ?? { availableMicros: 0, frozenMicros: 0, bookedMicros: 0 };
}
