import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../test/support/client.ts';
import { limitsOf } from '../lib/carrier.ts';
import { compare, hasEnded } from '../lib/compare.ts';
import { type Crew, killPoints, killPostgres, NEXT_SUBMIT_MS, startProcesses, untilSubmits } from '../lib/kills.ts';
import { destinationOf, exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from '../lib/messages.ts';
import type { Process } from '../lib/processes.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { COMMIT_BEFORE_DISK, NO_INTENTS } from '../sabotage/in-database.ts';

const WINDOW = 10;
const PROCESSES = 2;
/**
 * Number of clients: so few, and with such pauses, that a slot is free for nearly every message; the others wait in the
 * queue.
 */
const CLIENTS = 8;
const PAUSE_MS = 200;
/** Long enough for messages to be at the carrier whenever a process is killed, also on a busy machine. */
const RESPONSE_DELAY_MS = 200;
const STALL_TIMEOUT_MS = 20_000;

type Size = { readonly messages: number; readonly kills: number; readonly postgresKills: number };

const PROCESS_KILLS: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 3, postgresKills: 0 },
  quick: { messages: 4000, kills: 12, postgresKills: 0 },
  full: { messages: 100_000, kills: 500, postgresKills: 0 },
};
const POSTGRES_KILLS: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 0, postgresKills: 2 },
  quick: { messages: 4000, kills: 3, postgresKills: 4 },
  full: { messages: 100_000, kills: 100, postgresKills: 30 },
};

export const crashExpress: Proof = {
  promise:
    'A crash of processes that write single sends as soon as they are stored loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'single sends are stored without the intent to write them',
    sql: NO_INTENTS,
    breaks: ['nothing is sent twice'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, PROCESS_KILLS[run.mode]),
};

export const crashExpressPostgres: Proof = {
  promise:
    'A crash of PostgreSQL under single sends that are written as soon as they are stored loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'PostgreSQL runs with synchronous_commit off',
    sql: COMMIT_BEFORE_DISK,
    breaks: ['every accepted message is stored'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, POSTGRES_KILLS[run.mode]),
};

/** Sends single messages to processes that have the API and pumps, half of them under client ids, while they are killed. */
async function prove(run: Run, size: Size): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'api',
    script: {
      responseDelayMs: RESPONSE_DELAY_MS,
      reorderResponseShare: 0.3,
      reorderMs: 10,
      receiptDelayMs: 50,
      earlyReceiptShare: 0.1,
    },
    settings: limitsOf('smpp', { window: WINDOW }),
  });
  const { apiKey } = await stage.newAccount({ plan: 'unlimited', creditMicros: 1_000_000_000_000 });
  const crew = await startProcesses(run, PROCESSES, stage.startServe);
  const express = createExpressCount(crew);
  const sending = sendSingles(run, crew, { apiKey, messages: size.messages });
  const killPostgresAt = new Set(killPoints(run, size.postgresKills, size.messages));
  const points = [...killPoints(run, size.kills, size.messages), ...killPostgresAt].sort((a, b) => a - b);
  for (const point of points) {
    await express.note();
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (killPostgresAt.delete(point)) await killPostgres(run, stage, crew);
    else await crew.killOne();
    run.log(`a kill at ${point} submits`);
  }
  const { answered, failedRequests } = await sending;
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  await express.note();
  const ids = await listStored(stage);
  const stored = new Set(ids);
  const client = createClient(() => String(stage.gateway.ready['address']), apiKey);
  const evidence = {
    ids,
    records: await exportStatuses({ ...stage, client }, ids, hasEnded, STALL_TIMEOUT_MS),
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger: await stage.carrier.ledger(),
  };
  const postgresKills = size.postgresKills - killPostgresAt.size;
  // A crash of PostgreSQL ends the session of every process: each may leave its window in doubt.
  const bound = (crew.kills + postgresKills * PROCESSES) * WINDOW;
  const figures = {
    ...compare(evidence),
    failedRequests,
    notStored: [...answered].filter((id) => !stored.has(id)).length,
    express: express.total(),
    unknownBound: bound,
    kills: crew.kills,
    postgresKills,
  };
  return judge(figures, {
    'every accepted message is stored': figures.notStored === 0,
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= kills x window': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'nothing else is listed': figures.listedInVain === 0,
    'single sends were written without waiting in the queue': figures.express > 0,
    'all kills took place': crew.kills === size.kills && postgresKills === size.postgresKills,
  });
}

type Sending = { readonly apiKey: string; readonly messages: number };

/** Sends each message until it gets a response; returns the ids of the responses and how many requests failed. */
async function sendSingles(run: Run, crew: Crew, { apiKey, messages }: Sending) {
  const answered = new Set<string>();
  let failedRequests = 0;
  let next = 0;
  let repeated = messages;
  async function trySend(number: string, customerMessageId?: string): Promise<boolean> {
    const address = crew.ready.size > 0 ? String(oneOf(run, [...crew.ready]).ready['address']) : null;
    if (address === null) return false;
    const named = customerMessageId === undefined ? {} : { customerMessageId };
    const { messageId } = await createClient(() => address, apiKey)
      .send({ phoneNumber: number, message: 'Your code is 123456', ...named })
      .catch(() => ({ messageId: null }));
    if (messageId === null) failedRequests++;
    else answered.add(messageId);
    return messageId !== null;
  }
  async function client(): Promise<void> {
    for (let n = next++; n < messages; n = next++) {
      const isNamed = n % 2 === 0;
      // Without a client id a repeated request is another message, so it goes to another number.
      for (let to = destinationOf(n); !(await trySend(to, isNamed ? to : undefined)); ) {
        if (!isNamed) to = destinationOf(repeated++);
        await delay(PAUSE_MS);
      }
      await delay(PAUSE_MS);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { answered, failedRequests };
}

async function listStored({ pool }: Stage): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM message');
  return rows.map(({ id }) => id);
}

/** Counts the single sends that did not wait in the queue. What a process has sent since the last `note` dies with it. */
function createExpressCount({ ready }: Crew) {
  const counts = new Map<Process, number>();
  async function noteOf(process: Process): Promise<void> {
    const text = await (await fetch(new URL('/metrics', String(process.ready['address'])))).text();
    counts.set(process, Number(/^heliograph_single_sends_total\{way="express"\} (\d+)$/m.exec(text)?.[1] ?? 0));
  }
  return {
    note: async () => void (await Promise.all([...ready].map(noteOf))),
    total: () => counts.values().reduce((sum, count) => sum + count, 0),
  };
}
