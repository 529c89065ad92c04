import { realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { attachEmbedded } from '../src/platform/db/embedded/embedded.ts';
import { findServer } from '../src/platform/db/embedded/process.ts';
import { silentLog } from '../src/platform/lib/log.ts';
import type { Client } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { runOperatorCommand } from '../test/support/operator.ts';
import { until } from '../test/support/until.ts';
import { mobileOf, sendCampaign } from './lib/campaigns.ts';
import { destinationOf, listUnknownOutcomes, sendBulk } from './lib/messages.ts';
import type { Process } from './lib/processes.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { DECISIONS, decideRestored } from './lib/restored.ts';
import { openStage, type Stage } from './lib/stage.ts';

const ROUNDS: Readonly<Record<Mode, number>> = { tiny: 2, quick: 8, full: 50 };
/** Each sends a message, waits that long, and sends the next one. */
const CLIENTS = 4;
const PAUSE_MS = 20;
const BULK = 50;
/** At most 200 messages a second, fewer than are accepted: at any time some are waiting. */
const CARRIER = { window: 10, binds: 1 };
const RESPONSE_MS = 50;
const CAMPAIGN = { recipients: 100, rate: 20 };
/** Traffic before the backup, and after it. */
const TRAFFIC_MS = 700;

/** Where a backup is restored: in the DATA_DIR of the lost server, or in another one. */
const KINDS = ['in place', 'elsewhere'] as const;
/** Each kind meets each decision within four rounds. */
const kindOf = (n: number): (typeof KINDS)[number] | undefined => KINDS[(n + Math.floor(n / 2)) % KINDS.length];

export const backup: Proof = {
  promise:
    'A backup that is taken while the gateway sends brings its database back, and it sends nothing until a person confirms.',
  sabotage: {
    fault: 'a gateway sends although sending is paused',
    file: new URL('./sabotage/backup.ts', import.meta.url),
    breaks: ['nothing is sent before a person confirms'],
    mode: 'tiny',
  },
  prove,
};

type Counts = Record<
  | 'restored'
  | 'acceptedBefore'
  | 'missing'
  | 'acceptedAfter'
  | 'present'
  | 'queued'
  | 'notAsked'
  | 'sentUnasked'
  | 'notAccepted'
  | 'wrong'
  | 'unknown'
  | 'notListed',
  number
>;

/**
 * Takes a backup of a gateway that sends, lets it send on, removes its database, restores it, and compares; again and again,
 * each time with the database that was restored before.
 */
async function prove(run: Run): Promise<Findings> {
  // PostgreSQL's data folder is removed, so the run needs a server of its own.
  await using stage = await openStage(
    { ...run, databaseUrl: null },
    {
      gateway: 'serve',
      script: { responseDelayMs: RESPONSE_MS, receiptDelayMs: 50 },
      settings: CARRIER,
    },
  );
  await stage.gateway.stop();
  const counts: Counts = {
    restored: 0,
    acceptedBefore: 0,
    missing: 0,
    acceptedAfter: 0,
    present: 0,
    queued: 0,
    notAsked: 0,
    sentUnasked: 0,
    notAccepted: 0,
    wrong: 0,
    unknown: 0,
    notListed: 0,
  };
  const rounds = ROUNDS[run.mode];
  let dataDir: string | null = join(run.folder, 'data');
  for (let n = 0; n < rounds && dataDir !== null; n++) {
    dataDir = await runRound(run, stage, { n, dataDir, counts });
    if ((n + 1) % Math.ceil(rounds / 10) === 0) run.log(`${n + 1} rounds, ${counts.restored} restored`);
  }
  if (dataDir !== null) await removeDataDir(dataDir);
  return judge(
    { rounds, ...counts },
    {
      'each backup is restored': counts.restored === rounds,
      'what was accepted before the backup is there': counts.missing === 0 && counts.acceptedBefore > 0,
      'what was accepted after it is not': counts.present === 0 && counts.acceptedAfter > 0,
      'nothing is sent before a person confirms': counts.sentUnasked === 0,
      'sending is paused each time': counts.notAsked === 0,
      'requests are accepted while sending is paused': counts.notAccepted === 0,
      'once confirmed, queued messages are sent once; once discarded, only later ones are':
        counts.wrong === 0 && counts.queued > 0,
      'every unknown outcome is listed with its reason': counts.notListed === 0,
    },
  );
}

type Round = { readonly n: number; readonly dataDir: string; readonly counts: Counts };

/** Returns the DATA_DIR in which the database was restored; null if it could not be. */
async function runRound(run: Run, stage: Stage, { n, dataDir, counts }: Round): Promise<string | null> {
  const folder = join(run.folder, `backup-${n}`);
  const place = { environment: { ...stage.environment, DATA_DIR: dataDir } };
  const { process, client } = await stage.startGateway(place.environment);
  const traffic = startTraffic(client, n);
  await delay(TRAFFIC_MS);
  const before = [...traffic.ids];
  const { code, stderr } = await runOperatorCommand(place, 'backup', 'create', '--to', folder);
  if (code !== 0) throw new Error(`no backup: ${stderr}`);
  const after = traffic.collect();
  await delay(between(run, TRAFFIC_MS / 2, TRAFFIC_MS));
  await traffic.stop();
  await loseServer(process, dataDir);

  const target = kindOf(n) === 'in place' ? dataDir : join(run.folder, `data-${n}`);
  const restored = await restore(stage, { from: folder, to: target });
  await rm(folder, { recursive: true });
  if (!restored) return null;
  counts.restored++;
  if (target !== dataDir) await removeDataDir(dataDir);
  await checkRestored(stage, { n, dataDir: target, counts, before, after });
  return target;
}

type Traffic = {
  /** The ids of all messages that were accepted so far. */
  readonly ids: readonly string[];
  /** From now on the ids of messages of requests that begin from now on are also collected here. */
  collect(): readonly string[];
  stop(): Promise<void>;
};

/** Starts a campaign, and clients that send single messages and bulk requests until they are stopped. */
function startTraffic(client: Client, n: number): Traffic {
  const ids: string[] = [];
  let collected: string[] | null = null;
  let next = 0;
  let isOn = true;
  const numbers = Array.from({ length: CAMPAIGN.recipients }, (_, i) => mobileOf(n * CAMPAIGN.recipients + i));
  const campaign = sendCampaign(client, numbers, { rate: CAMPAIGN.rate });

  async function send(pauseMs: number, one: () => Promise<readonly string[]>): Promise<void> {
    while (isOn) {
      const late = collected;
      const accepted = await one();
      ids.push(...accepted);
      late?.push(...accepted);
      await delay(pauseMs);
    }
  }
  const number = (): string => destinationOf(n * 100_000 + next++);
  const single = async (): Promise<string[]> => {
    const { messageId } = await client.send({ phoneNumber: number(), message: 'Your code is 1' });
    return messageId === null ? [] : [messageId];
  };
  const many = (): Promise<string[]> => sendBulk({ client }, Array.from({ length: BULK }, number), 'For all');
  const clients = [
    campaign,
    send(TRAFFIC_MS / 2, many),
    ...Array.from({ length: CLIENTS }, () => send(PAUSE_MS, single)),
  ];
  return {
    ids,
    collect: () => (collected ??= []),
    async stop() {
      isOn = false;
      await Promise.all(clients);
    },
  };
}

/** Ends gateway and server without a shutdown, and removes the database. */
async function loseServer(gateway: Process, dataDir: string): Promise<void> {
  const cluster = await realpath(join(dataDir, 'postgres'));
  await gateway.kill();
  const server = await findServer(cluster);
  if (server !== undefined) process.kill(server.pid, 'SIGKILL');
  await until('the end of the server', async () => (await findServer(cluster)) === undefined);
  await rm(cluster, { recursive: true, maxRetries: 10 });
  await rm(join(dataDir, 'postgres'), { recursive: true, force: true });
}

type Restore = { readonly from: string; readonly to: string };

async function restore(stage: Stage, { from, to }: Restore): Promise<boolean> {
  const place = { environment: { ...stage.environment, DATA_DIR: to } };
  return (await runOperatorCommand(place, 'backup', 'restore', '--from', from)).code === 0;
}

type Restored = {
  readonly n: number;
  readonly dataDir: string;
  readonly counts: Counts;
  readonly before: readonly string[];
  readonly after: readonly string[];
};

async function checkRestored(stage: Stage, { n, dataDir, counts, before, after }: Restored): Promise<void> {
  async function inspect(client: Client): Promise<void> {
    counts.acceptedBefore += before.length;
    counts.missing += before.length - (await client.statuses(before)).length;
    counts.acceptedAfter += after.length;
    counts.present += (await client.statuses(after)).length;
    const unknown = (await client.statuses(before)).filter(({ deliveryStatus }) => deliveryStatus === 'UNKNOWN');
    const listed = await onDatabase(dataDir, (pool) => listUnknownOutcomes({ pool }));
    const reasons = new Map(listed.map(({ messageId, reason }) => [messageId, reason]));
    counts.unknown += unknown.length;
    counts.notListed += unknown.filter(({ messageId }) => !reasons.get(messageId)).length;
  }
  const decision = DECISIONS[n % DECISIONS.length] ?? 'confirm';
  const lateNumber = destinationOf(n * 100_000 + 99_999);
  const observed = await decideRestored(stage, { dataDir, decision, lateNumber, inspect });
  counts.queued += observed.queued;
  counts.notAsked += observed.wasAsked ? 0 : 1;
  counts.sentUnasked += observed.sentUnasked;
  counts.notAccepted += observed.accepted ? 0 : 1;
  counts.wrong += observed.sentAsDecided ? 0 : 1;
}

/** Runs `work` on the database of a gateway that runs. */
async function onDatabase<T>(dataDir: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const { connectionString, release } = await attachEmbedded({ dataDir, log: silentLog });
  const pool = new pg.Pool({ connectionString, max: 1 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
    await release();
  }
}
