import { setTimeout as delay } from 'node:timers/promises';
import { takenByDestination } from './carrier.ts';
import { cutGateway, killPostgres } from './kills.ts';
import { destinationOf, exportStatuses, listUnknown, untilQuiet } from './messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

type Size = { readonly messages: number; readonly postgresKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 300, postgresKills: 0 },
  quick: { messages: 10_000, postgresKills: 3 },
  full: { messages: 100_000, postgresKills: 20 },
};
const CLIENTS = 16;
const WINDOW = 100;
const PATIENCE_MS = 20_000;
const CUT_EVERY_MS = 100;
const RETRY_MS = 50;
/** So many requests are made twice at the same time, as by a client that does not wait for the first answer. */
const IMPATIENT_SHARE = 0.05;
const BULK_SHARE = 0.2;
const BULK = 20;

export const accept: Proof = {
  promise: 'What was answered with 200 is kept, once, whatever happens to PostgreSQL and to the connections.',
  sabotage: {
    fault: 'a single send is answered before its commit',
    file: new URL('./sabotage/accept.ts', import.meta.url),
  },
  prove,
};

/** Who answered what: our id by the client's, each of which is its destination. */
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
  const faults = inject(run, stage, size, traffic.share);
  await sending;
  const { postgresKills, connectionsCut } = await faults;
  await untilQuiet(stage, PATIENCE_MS);
  const figures = {
    ...(await compare(stage, traffic.answered)),
    ...traffic.counts,
    postgresKills,
    connectionsCut,
  };
  return judge(figures, {
    'what was answered is kept': figures.missing === 0,
    'one client id makes one message': figures.stored === figures.answered && figures.contradicted === 0,
    'each message reaches the carrier once, or is listed as unknown': figures.notSent + figures.duplicates === 0,
    'all kills took place': postgresKills === size.postgresKills,
  });
}

/**
 * Clients at the same time, each with one request under way. What is not answered with 200 is sent again under the same
 * client id, as the interface allows, until it is.
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

  async function beClient(): Promise<void> {
    while (next < messages) {
      const size = Math.min(run.random.chance(BULK_SHARE) ? BULK : 1, messages - next);
      const numbers = Array.from({ length: size }, (_, i) => destinationOf(next + i));
      next += size;
      await untilAnswered(numbers);
    }
  }

  return {
    answered,
    counts,
    share: () => answered.size / messages,
    run: async () => void (await Promise.all(Array.from({ length: CLIENTS }, beClient))),
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

/** Kills PostgreSQL at equal parts of the traffic, and cuts one of the gateway's connections to it every 100 ms. */
async function inject(run: Run, stage: Stage, { postgresKills }: Size, share: () => number) {
  const done = { postgresKills: 0, connectionsCut: 0 };
  while (share() < 1) {
    if (share() > (done.postgresKills + 0.5) / postgresKills) {
      await killPostgres(run, stage);
      done.postgresKills++;
      run.say(`PostgreSQL killed at ${Math.round(share() * 100)} % of the traffic`);
    }
    done.connectionsCut += await cutGateway(stage).catch(() => 0);
    await delay(between(run, 1, 2 * CUT_EVERY_MS));
  }
  return done;
}

async function compare(stage: Stage, answered: Answered) {
  const ids = [...answered.values()];
  const records = await exportStatuses(stage, ids, ({ deliveryStatus }) => deliveryStatus !== 'ACCEPTED', PATIENCE_MS);
  const found = new Map(records.map((record) => [record.messageId, record]));
  const missing = [...answered].filter(([number, id]) => found.get(id)?.destination !== number).length;
  const { rows } = await stage.pool.query('SELECT count(*) AS stored FROM message');
  const taken = takenByDestination(await stage.carrier.ledger());
  const unknown = new Set((await listUnknown(stage)).map(({ messageId }) => messageId));
  return {
    answered: answered.size,
    missing,
    stored: Number(rows[0].stored),
    notSent: [...answered].filter(([number, id]) => !taken.has(number) && !unknown.has(id) && found.has(id)).length,
    duplicates: [...taken.values()].filter((submits) => submits.length > 1).length,
    unknown: unknown.size,
  };
}
