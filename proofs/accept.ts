import { setTimeout as delay } from 'node:timers/promises';
import { takenByDestination } from './lib/carrier.ts';
import { cutGatewayConnection, killPostgres } from './lib/kills.ts';
import { destinationOf, exportStatuses, listUnknownOutcomes, untilIdle } from './lib/messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';

type Size = { readonly messages: number; readonly postgresKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 1500, postgresKills: 2 },
  quick: { messages: 10_000, postgresKills: 3 },
  full: { messages: 100_000, postgresKills: 20 },
};
const CLIENTS = 16;
const WINDOW = 100;
const STALL_TIMEOUT_MS = 20_000;
const CUT_INTERVAL_MS = 100;
const RETRY_MS = 50;
/**
 * The share of requests that are sent twice at the same time, as by a client that does not wait for the first response.
 */
const IMPATIENT_SHARE = 0.05;
const BULK_SHARE = 0.2;
const BULK_SIZE = 20;

export const accept: Proof = {
  promise:
    'Every message accepted with 200 is stored exactly once, whatever happens to PostgreSQL and its connections.',
  sabotage: {
    fault: 'a single send gets a response before its commit',
    module: new URL('./sabotage/accept.ts', import.meta.url),
    breaks: ['every accepted message is stored'],
    mode: 'tiny',
  },
  prove,
};

/** Our message id by client id, which is also the destination. */
type Answered = Map<string, string>;

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'serve',
    script: { receiptDelayMs: 50 },
    settings: { window: WINDOW },
  });
  const traffic = createTraffic(run, stage, size.messages);
  const sending = traffic.run();
  const faults = injectFaults(run, stage, size, traffic.share);
  await sending;
  const { postgresKills, connectionsCut } = await faults;
  await untilIdle(stage, STALL_TIMEOUT_MS);
  const figures = {
    ...(await compare(stage, traffic.answered)),
    ...traffic.counts,
    postgresKills,
    connectionsCut,
  };
  return judge(figures, {
    'every accepted message is stored': figures.missing === 0,
    'each client id creates exactly one message': figures.stored === figures.answered && figures.contradicted === 0,
    'each message reaches the carrier once, or is listed as unknown': figures.notSent + figures.duplicates === 0,
    'all kills took place': postgresKills === size.postgresKills,
  });
}

/**
 * Sends all messages with CLIENTS parallel clients, each with one request under way. A request that gets no response
 * with 200 is sent again under the same client ids, as the interface allows, until it is.
 */
function createTraffic(run: Run, { client }: Stage, messages: number) {
  const answered: Answered = new Map();
  const counts = { requests: 0, failedRequests: 0, contradicted: 0 };
  let next = 0;

  async function request(numbers: readonly string[]): Promise<boolean> {
    counts.requests++;
    const send = numbers.length === 1 ? sendOne(client, numbers[0] ?? '') : sendMany(client, numbers);
    const ids = await send.catch(() => undefined);
    if (ids === undefined) counts.failedRequests++;
    else numbers.forEach((number, i) => note(number, ids[i]));
    return ids !== undefined;
  }

  function note(number: string, id: string | undefined): void {
    const before = answered.get(number);
    if (id === undefined || (before !== undefined && before !== id)) counts.contradicted++;
    else answered.set(number, id);
  }

  async function untilAnswered(numbers: readonly string[]): Promise<void> {
    const twin = run.random.chance(IMPATIENT_SHARE) ? request(numbers) : null;
    while (!(await request(numbers))) await delay(RETRY_MS);
    await twin;
  }

  async function runClient(): Promise<void> {
    while (next < messages) {
      const size = Math.min(run.random.chance(BULK_SHARE) ? BULK_SIZE : 1, messages - next);
      const numbers = Array.from({ length: size }, (_, i) => destinationOf(next + i));
      next += size;
      await untilAnswered(numbers);
    }
  }

  return {
    answered,
    counts,
    share: () => answered.size / messages,
    run: async () => void (await Promise.all(Array.from({ length: CLIENTS }, runClient))),
  };
}

async function sendOne(client: Stage['client'], number: string): Promise<(string | undefined)[]> {
  const { messageId } = await client.send({ phoneNumber: number, message: 'Kept', customerMessageId: number });
  return [messageId ?? undefined];
}

async function sendMany(client: Stage['client'], numbers: readonly string[]): Promise<(string | undefined)[]> {
  const messages = [{ destinations: numbers, ids: numbers, sender: 'Acme', body: 'Kept' }];
  const { results } = await client.bulk({ messages });
  return results.map(({ id }) => id ?? undefined);
}

/**
 * Kills PostgreSQL at equal fractions of the traffic, and cuts one of the gateway's connections to it about every 100
 * ms.
 */
async function injectFaults(run: Run, stage: Stage, { postgresKills }: Size, share: () => number) {
  const done = { postgresKills: 0, connectionsCut: 0 };
  while (share() < 1) {
    if (share() > (done.postgresKills + 0.5) / postgresKills) {
      await killPostgres(run, stage);
      done.postgresKills++;
      run.log(`PostgreSQL killed at ${Math.round(share() * 100)} % of the traffic`);
    }
    done.connectionsCut += await cutGatewayConnection(stage).catch(() => 0);
    await delay(between(run, 1, 2 * CUT_INTERVAL_MS));
  }
  return done;
}

async function compare(stage: Stage, answered: Answered) {
  const ids = [...answered.values()];
  const records = await exportStatuses(
    stage,
    ids,
    ({ deliveryStatus }) => deliveryStatus !== 'ACCEPTED',
    STALL_TIMEOUT_MS,
  );
  const found = new Map(records.map((record) => [record.messageId, record]));
  const missing = [...answered].filter(([number, id]) => found.get(id)?.destination !== number).length;
  const { rows } = await stage.pool.query('SELECT count(*) AS stored FROM message');
  const taken = takenByDestination(await stage.carrier.ledger());
  const unknown = new Set((await listUnknownOutcomes(stage)).map(({ messageId }) => messageId));
  return {
    answered: answered.size,
    missing,
    stored: Number(rows[0].stored),
    notSent: [...answered].filter(([number, id]) => !taken.has(number) && !unknown.has(id) && found.has(id)).length,
    duplicates: [...taken.values()].filter((submits) => submits.length > 1).length,
    unknown: unknown.size,
  };
}
