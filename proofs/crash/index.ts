import { limitsOf, type Protocol } from '../lib/carrier.ts';
import { compare, hasEnded } from '../lib/compare.ts';
import { killPoints, killPostgres, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import {
  destinationOf,
  exportStatuses,
  listEverUnknown,
  listUnknownOutcomes,
  type StatusRecord,
  sendBulk,
  untilIdle,
} from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';
import { COMMIT_BEFORE_DISK, NO_INTENTS } from '../sabotage/in-database.ts';

const WINDOW = 10;
const WORKERS = 2;
const STALL_TIMEOUT_MS = 20_000;

type Size = { readonly messages: number; readonly kills: number; readonly postgresKills: number };

const WORKER_KILLS: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 3, postgresKills: 0 },
  quick: { messages: 5000, kills: 15, postgresKills: 0 },
  full: { messages: 100_000, kills: 1000, postgresKills: 0 },
};
const POSTGRES_KILLS: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 0, postgresKills: 1 },
  quick: { messages: 5000, kills: 3, postgresKills: 3 },
  full: { messages: 100_000, kills: 100, postgresKills: 20 },
};
const HTTP_KILLS: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 600, kills: 2, postgresKills: 1 },
  quick: { messages: 5000, kills: 10, postgresKills: 2 },
  full: { messages: 100_000, kills: 500, postgresKills: 20 },
};
/** Messages that the carrier takes without a response, or with a 503, and others that it puts off with 429. */
const HTTP_FAULTS = { dropResponseShare: 0.01, errorShare: 0.02, throttleShare: 0.01 };

export const crash: Proof = {
  promise: 'A crash of workers loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'no intent is recorded, so that the rescue of a dead worker puts everything back into the queue',
    sql: NO_INTENTS,
    breaks: ['nothing is sent twice'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, WORKER_KILLS[run.mode], 'smpp'),
};

export const crashPostgres: Proof = {
  promise: 'A crash of PostgreSQL loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'PostgreSQL runs with synchronous_commit off',
    sql: COMMIT_BEFORE_DISK,
    breaks: ['nothing is lost'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, POSTGRES_KILLS[run.mode], 'smpp'),
};

export const crashHttp: Proof = {
  promise:
    'Over a carrier over HTTP that fails, a crash of workers or PostgreSQL loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'what has an unknown outcome is sent again',
    module: new URL('../sabotage/crash-http.ts', import.meta.url),
    breaks: ['nothing is sent twice'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, HTTP_KILLS[run.mode], 'http'),
};

const isUnknown = ({ deliveryStatus }: StatusRecord): boolean => deliveryStatus === 'UNKNOWN';

async function prove(run: Run, size: Size, way: Protocol): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'api',
    way,
    script: {
      responseDelayMs: 10,
      reorderResponseShare: 0.3,
      reorderMs: 10,
      receiptDelayMs: 50,
      earlyReceiptShare: 0.1,
      ...(way === 'http' && HTTP_FAULTS),
    },
    settings: limitsOf(way, { window: WINDOW }),
  });
  const destinations = Array.from({ length: size.messages }, (_, n) => destinationOf(n));
  const ids = await sendBulk(stage, destinations, 'Through the crash');
  run.log(`${ids.length} messages are accepted; ${WORKERS} workers start`);

  const crew = await startCrew(run, stage, WORKERS);
  const killPostgresAt = new Set(killPoints(run, size.postgresKills, size.messages));
  const points = [...killPoints(run, size.kills, size.messages), ...killPostgresAt].sort((a, b) => a - b);
  for (const [n, point] of points.entries()) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (killPostgresAt.delete(point)) await killPostgres(run, stage, crew);
    else await crew.killOne();
    if ((n + 1) % Math.ceil(points.length / 10) === 0) run.log(`${n + 1} kills at ${point} submits`);
  }
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  // Receipts over HTTP name our id, so what was left open ends, too, after the receipt was parked.
  const isSettled = (record: StatusRecord): boolean => hasEnded(record) && (way === 'smpp' || !isUnknown(record));
  const records = await exportStatuses(stage, ids, isSettled, STALL_TIMEOUT_MS);
  const ledger = await stage.carrier.ledger();
  const evidence = {
    ids,
    records,
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger,
  };
  const postgresKills = size.postgresKills - killPostgresAt.size;
  // A crash of PostgreSQL ends the session of every worker: each may leave its window in doubt.
  const { withheld } = await stage.carrier.counts();
  const bound = (crew.kills + postgresKills * WORKERS) * WINDOW + withheld;
  const figures = { ...compare(evidence), withheld, unknownBound: bound, kills: crew.kills, postgresKills };
  return judge(figures, {
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= kills x window, and what the carrier left open': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'nothing else is listed': figures.listedInVain === 0,
    'all kills took place': crew.kills === size.kills && postgresKills === size.postgresKills,
  });
}
