import { statfs } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import type { CommandContext } from './cli.ts';
import type { Config } from './config.ts';
import { secretOf } from './connections/save.ts';
import { listConnections, listConnectionStatus } from './connections/sql.ts';
import { one, sql } from './db/query.ts';
import { findFence } from './fence/sql.ts';
import { createNodeServer } from './http/server.ts';
import { loadSecretKey } from './secret-key.ts';

/** One thing that was looked at; `advice` says what to do when it is not in order. */
type Finding = { readonly name: string; readonly ok: boolean; readonly detail: string; readonly advice?: string };

const MIN_FREE_BYTES = 2 * 1024 ** 3;
const MAX_CLOCK_GAP_MS = 2000;

/** `doctor`: looks at database, carriers, disk, clock, secrets and TLS, and says what to do. Exit code 1 when something is wrong. */
export function registerDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('look at database, carriers, disk, clock, secrets and TLS, and say what to do')
    .action(async () => {
      const findings = await context.withDatabase((pool) => examine(context.config(), pool));
      const ok = findings.every((finding) => finding.ok);
      context.report(findings, (all) => all.map(showFinding).join('\n'), ok);
    });
}

const showFinding = ({ name, ok, detail, advice }: Finding): string =>
  `${ok ? 'ok  ' : 'BAD '} ${name}: ${detail}${advice && !ok ? `\n     ${advice}` : ''}`;

async function examine(config: Config, pool: Pool): Promise<Finding[]> {
  return [
    await checkDatabase(pool),
    await checkFence(pool),
    await checkClock(pool),
    await checkDisk(config),
    checkTls(config),
    await checkSecrets(config, pool),
    ...(await checkCarriers(pool)),
  ];
}

async function checkDatabase(pool: Pool): Promise<Finding> {
  const row = await one<{ version: string; commit: string; fsync: string }>(
    pool,
    sql`SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commit,
               current_setting('fsync') AS fsync`,
  );
  const durable = row.commit !== 'off' && row.fsync === 'on';
  return {
    name: 'database',
    ok: durable,
    detail: `PostgreSQL ${row.version}, fsync ${row.fsync}, synchronous_commit ${row.commit}`,
    advice: 'Set fsync and synchronous_commit to on: without them a power cut loses accepted messages.',
  };
}

async function checkFence(pool: Pool): Promise<Finding> {
  const { state, reason } = await findFence(pool);
  return {
    name: 'sending',
    ok: state !== 'paused',
    detail: state === 'paused' ? `paused: ${reason}` : 'not paused',
    advice: 'See `fence show` for what is queued, then decide: `fence confirm` sends it, `fence discard` does not.',
  };
}

async function checkClock(pool: Pool): Promise<Finding> {
  const before = Date.now();
  const { now } = await one<{ now: Date }>(pool, sql`SELECT clock_timestamp() AS now`);
  const gap = Math.abs(now.getTime() - (before + Date.now()) / 2);
  return {
    name: 'clock',
    ok: gap < MAX_CLOCK_GAP_MS,
    detail: `${Math.round(gap)} ms from the database's`,
    advice: 'Synchronise both machines by NTP: message ids and schedules take this clock.',
  };
}

async function checkDisk({ dataDir }: Config): Promise<Finding> {
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  return {
    name: 'disk',
    ok: free > MIN_FREE_BYTES,
    detail: `${(free / 1024 ** 3).toFixed(1)} GiB free in ${dataDir}`,
    advice: 'Make room, or lower RETENTION_DAYS: below 2 GiB the database may stop.',
  };
}

function checkTls(config: Config): Finding {
  if (!config.tls) {
    const detail = config.trustProxy.length > 0 ? 'a proxy in front speaks it' : 'none, loopback only';
    return { name: 'tls', ok: true, detail };
  }
  try {
    createNodeServer(config, () => undefined);
    return { name: 'tls', ok: true, detail: config.tls.certFile };
  } catch (error) {
    return {
      name: 'tls',
      ok: false,
      detail: String(error),
      advice: 'Set TLS_CERT and TLS_KEY to PEM files that belong together.',
    };
  }
}

async function checkSecrets(config: Config, pool: Pool): Promise<Finding> {
  const key = await loadSecretKey(config);
  const closed = (await listConnections(pool)).filter((connection) => {
    try {
      secretOf(connection, key);
      return false;
    } catch {
      return true;
    }
  });
  return {
    name: 'secrets',
    ok: closed.length === 0,
    detail: closed.length === 0 ? 'readable' : `sealed with another key: ${closed.map((c) => c.name).join(', ')}`,
    advice: 'Set SECRET_KEY to the key they were sealed with, or enter the passwords again.',
  };
}

async function checkCarriers(pool: Pool): Promise<Finding[]> {
  const connections = await listConnectionStatus(pool);
  return connections.map(({ name, kind, status, up, bindsUp, bindsWanted, fault }) => ({
    name: `${kind} ${name}`,
    ok: up || status === 'paused',
    detail: status === 'paused' ? 'paused' : `${bindsUp} of ${bindsWanted} links up${fault ? `, ${fault}` : ''}`,
    advice: 'Is a program running? `connection test` connects from here and shows what the carrier answers.',
  }));
}
