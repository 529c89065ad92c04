import { compare, hasEnded } from '../lib/compare.ts';
import { killPoints, killPostgres, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import {
  destinationOf,
  exportStatuses,
  listEverUnknown,
  listUnknownOutcomes,
  sendBulk,
  untilIdle,
} from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';

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

export const crash: Proof = {
  promise: 'A crash of workers loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'the rescue of a dead worker silently puts everything back into the queue',
    file: new URL('../sabotage/crash.ts', import.meta.url),
    breaks: ['nothing is sent twice'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, WORKER_KILLS[run.mode]),
};

export const crashPostgres: Proof = {
  promise: 'A crash of PostgreSQL loses nothing, sends nothing twice, and lists every unknown outcome.',
  sabotage: {
    fault: 'PostgreSQL runs with synchronous_commit off',
    file: new URL('../sabotage/crash-pg.ts', import.meta.url),
    breaks: ['nothing is lost'],
    mode: 'tiny',
  },
  prove: (run) => prove(run, POSTGRES_KILLS[run.mode]),
};

async function prove(run: Run, size: Size): Promise<Findings> {
  await using stage = await openStage(run, {
    gateway: 'api',
    script: {
      responseDelayMs: 10,
      reorderResponseShare: 0.3,
      reorderMs: 10,
      receiptDelayMs: 50,
      earlyReceiptShare: 0.1,
    },
    settings: { window: WINDOW, binds: 1 },
  });
  const destinations = Array.from({ length: size.messages }, (_, n) => destinationOf(n));
  const ids = await sendBulk(stage, destinations, 'Through the crash');
  run.log(`${ids.length} messages are accepted; ${WORKERS} workers start`);

  const crew = await startCrew(run, stage, WORKERS);
  const killPostgresAt = new Set(killPoints(run, size.postgresKills, size.messages));
  const points = [...killPoints(run, size.kills, size.messages), ...killPostgresAt].sort((a, b) => a - b);
  for (const [n, point] of points.entries()) {
    if (!(await untilSubmits(stage, point, NEXT_SUBMIT_MS))) break;
    if (killPostgresAt.delete(point)) await killPostgres(run, stage);
    else await crew.killOne();
    if ((n + 1) % Math.ceil(points.length / 10) === 0) run.log(`${n + 1} kills at ${point} submits`);
  }
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, ids, hasEnded, STALL_TIMEOUT_MS);
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
  const bound = (crew.kills + postgresKills * WORKERS) * WINDOW;
  const figures = { ...compare(evidence), unknownBound: bound, kills: crew.kills, postgresKills };
  return judge(figures, {
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= kills x window': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'nothing else is listed': figures.listedInVain === 0,
    'all kills took place': crew.kills === size.kills && postgresKills === size.postgresKills,
  });
}
