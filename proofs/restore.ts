import { execFile } from 'node:child_process';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stopServer } from '../src/core/db/embedded-process.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { until } from '../test/support/until.ts';
import { mobileOf, sendCampaign } from './lib/campaigns.ts';
import { takenByDestination } from './lib/carrier.ts';
import { untilSubmits } from './lib/kills.ts';
import { sendBulk } from './lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { DECISIONS, decideRestored } from './lib/restored.ts';
import { openStage, type Stage } from './lib/stage.ts';
import { NO_RESTORE_GUARD } from './sabotage/in-database.ts';

const ROUNDS: Readonly<Record<Mode, number>> = { tiny: 2, quick: 10, full: 50 };
const MESSAGES = 30;
/** The backup is taken when this many of them have been sent. */
const SENT_BEFORE_BACKUP = 8;
/** Two at a time, 50 ms each, so that the gateway can be stopped in the middle. */
const SLOW = { window: 2, binds: 1 };
/** The campaign's rate in messages per second: most of its messages are not made yet when the backup is taken. */
const RATE = 10;
const RESPONSE_MS = 50;
const STALL_TIMEOUT_MS = 20_000;

/**
 * `in place`: the folder of PostgreSQL is put back. `database`: the backup is started elsewhere, without the rest of
 * the data folder. `folder`: it is started elsewhere with the whole data folder.
 */
const KINDS = ['in place', 'database', 'folder'] as const;

export const restore: Proof = {
  promise: 'A restored backup or a copy of the database sends nothing until a person confirms.',
  sabotage: {
    fault: 'no restore guard: whatever the database has queued is sent',
    sql: NO_RESTORE_GUARD,
    breaks: ['nothing is sent before a person confirms'],
    mode: 'tiny',
  },
  prove,
};

type Counts = Record<
  'inPlace' | 'copies' | 'confirmed' | 'discarded' | 'queued' | 'notAsked' | 'sentUnasked' | 'notAccepted' | 'wrong',
  number
>;

async function prove(run: Run): Promise<Findings> {
  // PostgreSQL's data folder is replaced and copied, so the run needs its own server.
  await using stage = await openStage(
    { ...run, databaseUrl: null },
    { gateway: 'serve', script: { responseDelayMs: RESPONSE_MS, receiptDelayMs: 50 }, settings: SLOW },
  );
  await stage.gateway.stop();
  const counts: Counts = {
    inPlace: 0,
    copies: 0,
    confirmed: 0,
    discarded: 0,
    queued: 0,
    notAsked: 0,
    sentUnasked: 0,
    notAccepted: 0,
    wrong: 0,
  };
  const kinds = Array.from({ length: ROUNDS[run.mode] }, (_, n) => KINDS[n % KINDS.length] ?? 'in place');
  for (const [n, kind] of kinds.entries()) {
    await runRound(run, stage, { n, kind, counts });
    if ((n + 1) % Math.ceil(kinds.length / 10) === 0)
      run.log(`${n + 1} rounds, ${counts.sentUnasked} sent without being asked`);
  }
  const figures = { rounds: kinds.length, ...counts };
  return judge(figures, {
    'nothing is sent before a person confirms': counts.sentUnasked === 0,
    'sending is paused each time': counts.notAsked === 0,
    'each time messages were queued that had already been sent': counts.queued >= kinds.length,
    'requests are accepted while sending is paused': counts.notAccepted === 0,
    'once confirmed, queued messages are sent once; once discarded, only later ones are': counts.wrong === 0,
  });
}

type Round = { readonly n: number; readonly kind: (typeof KINDS)[number]; readonly counts: Counts };

async function runRound(run: Run, stage: Stage, { n, kind, counts }: Round): Promise<void> {
  const dataDir = join(run.folder, 'data');
  const backup = join(run.folder, `backup-${n}`);
  await sendHalf(stage, n, () => copyDataDir(dataDir, backup));
  await sendRest(run, stage, n);
  const restored = kind === 'in place' ? await restoreInPlace(dataDir, backup) : backup;
  if (kind === 'database') await rm(join(backup, 'restore-guard.json'));
  counts[kind === 'in place' ? 'inPlace' : 'copies']++;
  await checkRestored(stage, { dataDir: restored, n, counts });
  await removeDataDir(backup);
}

/** Campaigns take every other pair of rounds, so that both decisions are tried on them. */
const isCampaign = (n: number): boolean => n % (2 * DECISIONS.length) >= DECISIONS.length;
const numbersOf = (n: number): string[] => Array.from({ length: MESSAGES }, (_, i) => mobileOf(n * (MESSAGES + 1) + i));
/** The number that is sent to while sending is paused. */
const lateNumberOf = (n: number): string => mobileOf(n * (MESSAGES + 1) + MESSAGES);

/** Stops the gateway gracefully in the middle of the messages and takes the backup. */
async function sendHalf(stage: Stage, n: number, takeBackup: () => Promise<void>): Promise<void> {
  const { submits } = await stage.carrier.counts();
  const { process, client } = await stage.startGateway();
  if (isCampaign(n)) await sendCampaign(client, numbersOf(n), { rate: RATE });
  else await sendBulk({ client }, numbersOf(n), 'Once more');
  await untilSubmits(stage, submits + SENT_BEFORE_BACKUP, STALL_TIMEOUT_MS);
  await process.stop();
  await takeBackup();
}

/** Sends the rest, so that the backup is out of date, and ends the gateway: half of the time by SIGKILL. */
async function sendRest(run: Run, stage: Stage, n: number): Promise<void> {
  const { process } = await stage.startGateway();
  await until(
    `the rest of round ${n}`,
    async () => (await countTaken(stage, numbersOf(n))) >= MESSAGES,
    STALL_TIMEOUT_MS,
  );
  if (run.random.chance(0.5)) await process.stop();
  else await process.kill();
  await stopServer(await realpath(join(run.folder, 'data', 'postgres')));
}

/** Counts the messages to these numbers that the carrier took. */
async function countTaken(stage: Stage, numbers: readonly string[]): Promise<number> {
  const taken = takenByDestination(await stage.carrier.ledger());
  return numbers.reduce((sum, number) => sum + (taken.get(number)?.length ?? 0), 0);
}

const copy = (from: string, to: string): Promise<unknown> => promisify(execFile)('cp', ['-a', from, to]);

/** Copies the data folder as a backup tool does; the database may be elsewhere, behind a symbolic link. */
async function copyDataDir(dataDir: string, backup: string): Promise<void> {
  await mkdir(backup, { mode: 0o711 });
  for (const name of ['postgres.password', 'restore-guard.json']) await copy(join(dataDir, name), backup);
  await copy(await realpath(join(dataDir, 'postgres')), join(backup, 'postgres'));
}

async function restoreInPlace(dataDir: string, backup: string): Promise<string> {
  const cluster = await realpath(join(dataDir, 'postgres'));
  await rm(cluster, { recursive: true });
  await copy(join(backup, 'postgres'), cluster);
  return dataDir;
}

type Restored = { readonly dataDir: string; readonly n: number; readonly counts: Counts };

/** Starts the gateway on what was restored, decides, and counts what it did. */
async function checkRestored(stage: Stage, { dataDir, n, counts }: Restored): Promise<void> {
  const decision = DECISIONS[n % DECISIONS.length] ?? 'confirm';
  const observed = await decideRestored(stage, { dataDir, decision, lateNumber: lateNumberOf(n) });
  counts.queued += observed.queued > 0 ? 1 : 0;
  counts.notAsked += observed.wasAsked ? 0 : 1;
  counts.sentUnasked += observed.sentUnasked;
  counts.notAccepted += observed.accepted ? 0 : 1;
  counts.wrong += observed.sentAsDecided ? 0 : 1;
  counts[decision === 'confirm' ? 'confirmed' : 'discarded']++;
}
