import { execFile } from 'node:child_process';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stopServer } from '../src/platform/db/embedded-process.ts';
import type { Client } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { operate } from '../test/support/operator.ts';
import { until } from '../test/support/until.ts';
import { mobileOf, sendCampaign } from './campaigns.ts';
import { takenByDestination } from './carrier.ts';
import { untilSubmits } from './kills.ts';
import { sendBulk } from './messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

const ROUNDS: Readonly<Record<Mode, number>> = { tiny: 2, quick: 10, full: 50 };
const MESSAGES = 30;
/** The backup is taken when so many of them have gone. */
const SENT_BEFORE = 8;
/** Two at a time, 50 ms each: so the gateway can be ended in the middle. */
const SLOW = { window: 2, binds: 1 };
/** Of a campaign, a second: most of its messages are not made yet when the backup is taken. */
const RATE = 10;
const RESPONSE_MS = 50;
const PATIENCE_MS = 20_000;
/** Without a fence the first message goes within milliseconds of the bind; every loop of a worker runs in this time. */
const WATCH_MS = 3000;

/**
 * `in place`: the folder of PostgreSQL is put back. `database`: it is started elsewhere, without the rest of the data
 * folder. `folder`: with all of it.
 */
const KINDS = ['in place', 'database', 'folder'] as const;
const DECISIONS = ['confirm', 'discard'] as const;

export const restore: Proof = {
  promise: 'A restored backup or a copy of the database sends nothing until a person confirms.',
  sabotage: {
    fault: 'no fence: what the database has queued is sent',
    file: new URL('./sabotage/restore.ts', import.meta.url),
  },
  prove,
};

type Counts = Record<
  'inPlace' | 'copies' | 'confirmed' | 'discarded' | 'queued' | 'notAsked' | 'sentUnasked' | 'notAccepted' | 'wrong',
  number
>;

async function prove(run: Run): Promise<Findings> {
  // A cluster of its own is put back and copied: the folder of a server that others use cannot be.
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
    await playRound(run, stage, { n, kind, counts });
    if ((n + 1) % Math.ceil(kinds.length / 10) === 0) run.say(`${n + 1} rounds, ${counts.sentUnasked} sent unasked`);
  }
  const figures = { rounds: kinds.length, ...counts };
  return judge(figures, {
    'nothing is sent before a person confirms': counts.sentUnasked === 0,
    'a person is asked each time': counts.notAsked === 0,
    'each time something waited that had been sent': counts.queued >= kinds.length,
    'requests are accepted meanwhile': counts.notAccepted === 0,
    'confirmed, what is queued goes once; discarded, only what came later': counts.wrong === 0,
  });
}

type Round = { readonly n: number; readonly kind: (typeof KINDS)[number]; readonly counts: Counts };

async function playRound(run: Run, stage: Stage, { n, kind, counts }: Round): Promise<void> {
  const dataDir = join(run.folder, 'data');
  const backup = join(run.folder, `backup-${n}`);
  await sendHalf(stage, n, () => backUp(dataDir, backup));
  await sendRest(run, stage, n);
  const restored = kind === 'in place' ? await putBack(dataDir, backup) : backup;
  if (kind === 'database') await rm(join(backup, 'fence.json'));
  counts[kind === 'in place' ? 'inPlace' : 'copies']++;
  await useRestored(stage, { dataDir: restored, n, counts });
  await removeDataDir(backup);
}

/** Every other pair of rounds, so that a person decides either way about it. */
const isCampaign = (n: number): boolean => n % (2 * DECISIONS.length) >= DECISIONS.length;
const numbersOf = (n: number): string[] => Array.from({ length: MESSAGES }, (_, i) => mobileOf(n * (MESSAGES + 1) + i));
/** The one that is sent while sending is paused. */
const lateNumberOf = (n: number): string => mobileOf(n * (MESSAGES + 1) + MESSAGES);

/** Ends the gateway orderly in the middle of the messages and has the backup taken. */
async function sendHalf(stage: Stage, n: number, takeBackup: () => Promise<void>): Promise<void> {
  const { submits } = await stage.carrier.counts();
  const { process, client } = await stage.startGateway();
  if (isCampaign(n)) await sendCampaign(client, numbersOf(n), { rate: RATE });
  else await sendBulk({ client }, numbersOf(n), 'Once more');
  await untilSubmits(stage, submits + SENT_BEFORE, PATIENCE_MS);
  await process.stop();
  await takeBackup();
}

/** Sends what is left, so that the backup is behind, and ends the gateway: now and then by SIGKILL. */
async function sendRest(run: Run, stage: Stage, n: number): Promise<void> {
  const { process } = await stage.startGateway();
  await until(`the rest of round ${n}`, async () => (await countTaken(stage, numbersOf(n))) >= MESSAGES, PATIENCE_MS);
  if (run.random.chance(0.5)) await process.stop();
  else await process.kill();
  await stopServer(await realpath(join(run.folder, 'data', 'postgres')));
}

/** How often the carrier took messages to these numbers. */
async function countTaken(stage: Stage, numbers: readonly string[]): Promise<number> {
  const taken = takenByDestination(await stage.carrier.ledger());
  return numbers.reduce((sum, number) => sum + (taken.get(number)?.length ?? 0), 0);
}

const copy = (from: string, to: string): Promise<unknown> => promisify(execFile)('cp', ['-a', from, to]);

/** The data folder as tools for backups copy it; the cluster may be elsewhere, behind a symbolic link. */
async function backUp(dataDir: string, backup: string): Promise<void> {
  await mkdir(backup, { mode: 0o711 });
  for (const name of ['postgres.password', 'fence.json']) await copy(join(dataDir, name), backup);
  await copy(await realpath(join(dataDir, 'postgres')), join(backup, 'postgres'));
}

async function putBack(dataDir: string, backup: string): Promise<string> {
  const cluster = await realpath(join(dataDir, 'postgres'));
  await rm(cluster, { recursive: true });
  await copy(join(backup, 'postgres'), cluster);
  return dataDir;
}

type Restored = { readonly dataDir: string; readonly n: number; readonly counts: Counts };

/** Starts the gateway on what was restored, watches, decides, and looks what comes of it. */
async function useRestored(stage: Stage, { dataDir, n, counts }: Restored): Promise<void> {
  const place = { environment: { ...stage.environment, DATA_DIR: dataDir } };
  const before = (await stage.carrier.counts()).submits;
  const { process, client } = await stage.startGateway(place.environment);
  const isAsked = await askedOnceBound(client);
  const queued = await countQueued(place);
  const late = await client.send({ phoneNumber: lateNumberOf(n), message: 'Meanwhile' }).catch(() => null);
  await delay(WATCH_MS);
  const sentUnasked = (await stage.carrier.counts()).submits - before;

  const decision = DECISIONS[n % DECISIONS.length] ?? 'confirm';
  const { code } = await operate(place, 'fence', decision);
  const expected = (decision === 'confirm' ? queued : 0) + 1;
  await untilSubmits(stage, before + expected, PATIENCE_MS / 4);
  await process.stop();
  const sent = (await stage.carrier.counts()).submits - before;

  counts.queued += queued > 0 ? 1 : 0;
  counts.notAsked += isAsked && code === 0 ? 0 : 1;
  counts.sentUnasked += sentUnasked;
  counts.notAccepted += late === null ? 1 : 0;
  counts.wrong += sent === expected ? 0 : 1;
  counts[decision === 'confirm' ? 'confirmed' : 'discarded']++;
}

/** Whether the gateway says that sending is paused, at the time at which it could send. */
async function askedOnceBound(client: Client): Promise<boolean> {
  return until('a bind', async () => {
    const { body } = await client.request('GET', '/health/ready');
    const { checks } = body as { checks: Record<string, { ok: boolean }> };
    return checks['carriers']?.ok === true && [checks['sending']?.ok === false];
  }).then(([asked]) => asked === true);
}

type Place = { readonly environment: Readonly<Record<string, string>> };

async function countQueued(place: Place): Promise<number> {
  const { answer } = await operate(place, 'fence', 'show');
  const { unsent, campaigns } = answer as { unsent: { messages: number }[]; campaigns: { recipients: number }[] };
  const unmade = campaigns.reduce((sum, { recipients }) => sum + recipients, 0);
  return unsent.reduce((sum, { messages }) => sum + messages, unmade);
}
