import { setTimeout as delay } from 'node:timers/promises';
import { type Replicated, type ReplicatedServer, startReplicated } from '../test/support/replication.ts';
import { until } from '../test/support/until.ts';
import { compare, hasEnded } from './lib/compare.ts';
import { startCrew } from './lib/kills.ts';
import { exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from './lib/messages.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { startTraffic, type Traffic } from './lib/sending.ts';
import { openStage } from './lib/stage.ts';
import { COMMIT_WITHOUT_STANDBY } from './sabotage/in-database.ts';

type Size = { readonly failovers: number; readonly bulk: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { failovers: 1, bulk: 100 },
  quick: { failovers: 4, bulk: 1000 },
  full: { failovers: 20, bulk: 2000 },
};
const WORKERS = 2;
const WINDOW = 10;
const STALL_TIMEOUT_MS = 60_000;
/** Traffic before each failover, and with the standbys frozen before the kill. */
const TRAFFIC_MS = 1000;
const FROZEN_MS = 500;

export const failover: Proof = {
  promise: 'The loss of the primary database server loses nothing that was accepted, and sends nothing twice.',
  sabotage: {
    fault: 'commits do not wait for a standby',
    sql: COMMIT_WITHOUT_STANDBY,
    breaks: ['nothing is lost'],
    mode: 'tiny',
  },
  prove,
};

/**
 * Sends single messages and bulk requests to a gateway on a primary with two synchronous standbys, kills the primary again
 * and again, promotes the standby that has received more, and brings the killed server back as a standby. In between, the
 * standbys are killed in turns.
 */
async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  const replicated = await startReplicated({ standbys: 2, synchronous: true });
  await using opened = new AsyncDisposableStack();
  opened.defer(replicated.stop);
  const stage = opened.use(
    await openStage(
      { ...run, databaseUrl: replicated.url },
      { gateway: 'api', script: { responseDelayMs: 5, receiptDelayMs: 50 }, settings: { window: WINDOW, binds: 1 } },
    ),
  );
  const crew = await startCrew(run, stage, WORKERS);
  const traffic = startTraffic(stage, size);
  const servers = { primary: replicated.servers[0], standbys: replicated.servers.slice(1) };
  const pauses: number[] = [];
  let standbyKills = 0;
  let { primary } = servers;
  if (primary === undefined) throw new Error('no primary');
  for (let n = 0; n < size.failovers; n++) {
    await traffic.forMs(TRAFFIC_MS);
    const [next, pauseMs] = await failOver(run, replicated, primary, traffic);
    primary = next;
    pauses.push(pauseMs);
    standbyKills += await killStandby(run, replicated, primary, traffic);
    run.log(`failover ${n + 1}: ${Math.round(pauseMs)} ms without a response, ${traffic.ids.length} messages accepted`);
  }
  await traffic.stop();
  await crew.allStarted();
  await untilIdle(stage, STALL_TIMEOUT_MS);

  const records = await exportStatuses(stage, traffic.ids, hasEnded, STALL_TIMEOUT_MS);
  const evidence = {
    ids: traffic.ids,
    records,
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger: await stage.carrier.ledger(),
  };
  const bound = size.failovers * WORKERS * WINDOW;
  const figures = {
    ...compare(evidence),
    unknownBound: bound,
    failovers: pauses.length,
    standbyKills,
    refused: traffic.refused(),
    longestPauseMs: Math.round(Math.max(...pauses)),
  };
  return judge(figures, {
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= failovers x workers x window': figures.inDoubt <= bound,
    'every unknown outcome is listed with its reason': figures.notListed === 0,
    'some requests failed while there was no primary': figures.refused > 0,
    'all failovers took place': pauses.length === size.failovers && standbyKills === size.failovers,
  });
}

/**
 * Kills the primary at a moment at which the standbys have not received its latest commits, promotes one, and makes the
 * others follow it. Returns the new primary, and the time until a message was accepted again.
 */
async function failOver(
  run: Run,
  { servers }: Replicated,
  primary: ReplicatedServer,
  traffic: Traffic,
): Promise<[ReplicatedServer, number]> {
  const standbys = servers.filter((server) => server !== primary);
  const drops = await Promise.all(standbys.map((standby) => standby.freeze()));
  await delay(between(run, FROZEN_MS / 2, FROZEN_MS));
  // With the fault a message is accepted that no standby has; on a busy machine that takes longer.
  if (run.sabotage) await traffic.untilAccepted();
  await primary.kill();
  const killedAt = performance.now();
  for (const drop of drops) drop();
  await Promise.all(standbys.map((standby) => until('the end of the replay', () => hasReplayedAll(standby))));
  const received = await Promise.all(standbys.map((standby) => standby.received()));
  const next = standbys[received.indexOf(Math.max(...received))];
  if (next === undefined) throw new Error('no standby');
  await next.promote();
  for (const other of standbys.filter((standby) => standby !== next)) await other.follow(next);
  await traffic.untilAccepted();
  const pauseMs = performance.now() - killedAt;
  await primary.rebuild(next);
  await untilStreaming(next, servers.length - 1);
  return [next, pauseMs];
}

/** Kills one of the two standbys: the other one suffices. Starts it again; returns 1 if messages were accepted without it. */
async function killStandby(
  run: Run,
  { servers }: Replicated,
  primary: ReplicatedServer,
  traffic: Traffic,
): Promise<number> {
  const standby = oneOf(
    run,
    servers.filter((server) => server !== primary),
  );
  await standby.kill();
  await traffic.untilAccepted();
  await standby.start();
  await untilStreaming(primary, servers.length - 1);
  return 1;
}

/**
 * Returns true if a standby has replayed all that it has received, and receives no more: only then is the position that
 * it reports final.
 */
async function hasReplayedAll(standby: ReplicatedServer): Promise<boolean> {
  const waiting = await standby
    .ask(
      `SELECT FROM pg_stat_activity WHERE backend_type = 'startup'
       AND wait_event IN ('RecoveryRetrieveRetryInterval', 'RecoveryWalStream')
       AND NOT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`,
    )
    .catch(() => []);
  return waiting.length > 0;
}

const untilStreaming = (primary: ReplicatedServer, count: number): Promise<unknown> =>
  until('all standbys', async () => {
    const rows = await primary.ask("SELECT FROM pg_stat_replication WHERE state = 'streaming'");
    return rows.length === count;
  });
