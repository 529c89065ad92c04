import { X509Certificate } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import type { Pool } from 'pg';
import type { Config } from '../core/config.ts';
import { findMissingRights, sharesSessions } from '../core/db/migrate.ts';
import { as, columns, type Db, one, type RowOf, sql } from '../core/db/query.ts';
import { findWritability } from '../core/db/reports.ts';
import { findStorageFault, openStorage } from '../core/open-storage.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { DAY_MS } from '../core/time.ts';
import { countLost } from '../dispatch/claims.ts';
import { findGuardStatus } from '../messages/restore-guard.ts';
import { describeUnderCost, listUnderCost } from '../money/under-cost.ts';
import {
  type ConnectionSummary,
  listConnectionStatus,
  listConnections,
  listSeriousNotices,
  STARTS_LATER,
} from '../routing/connection-store.ts';
import { checkSetup, secretOf } from '../routing/connections.ts';
import { listUnruled, obligationsOn, SERVED_DAYS, type SenderObligation } from '../routing/sender-obligations.ts';
import {
  checkAddress,
  checkMoves,
  checkReadStandbys,
  checkSandbox,
  checkStandbys,
  type Finding,
} from './doctor-checks.ts';

const MIN_FREE_BYTES = 2 * 1024 ** 3;
const MAX_CLOCK_GAP_MS = 2000;
const MIN_CERTIFICATE_MS = 14 * DAY_MS;

/** Makes a server as the program does, and throws when that fails. */
type MakeServer = (config: Config) => unknown;
type Installation = { readonly config: Config; readonly pool: Pool; readonly makeServer: MakeServer };

/**
 * Checks database, rights, standbys, restore guard, queue, moves between cells, clock, disk, stored files, TLS,
 * mail, alerts, secrets and carriers, and what has to be set up at carriers, as this machine sees them.
 */
export async function examine({ config, pool, makeServer }: Installation): Promise<Finding[]> {
  return [
    await checkDatabase(pool),
    await checkSessions(pool),
    await checkRights(pool),
    await checkStandbys(pool, config.databaseUrl),
    ...(await checkReadStandbys(config.databaseUrlRead)),
    await checkRestoreGuard(pool),
    await checkClock(pool),
    await checkDisk(config),
    await checkFiles(config),
    await checkTls(config, makeServer),
    await checkAddress(config, pool),
    await checkSecrets(config, pool),
    await checkQueue(pool),
    await checkMoves(pool),
    await checkCosts(pool),
    await checkSenders(pool),
    checkMail(config),
    await checkAlerts(config, pool),
    ...(await checkCarriers(pool)),
    ...(await checkSandbox(config, pool)),
    ...(await checkSetups(config, pool)),
    ...(await checkNotices(pool)),
  ];
}

async function checkDatabase(pool: Pool): Promise<Finding> {
  const row = await findDurability(pool);
  const { readOnly } = await findWritability(pool);
  const durable = row.commit !== 'off' && row.fsync === 'on';
  if (readOnly)
    return {
      name: 'database',
      ok: false,
      detail: `PostgreSQL ${row.version} accepts no writes`,
      advice: 'Set DATABASE_URL to the primary, or promote this server.',
    };
  return {
    name: 'database',
    ok: durable,
    detail: `PostgreSQL ${row.version}, fsync ${row.fsync}, synchronous_commit ${row.commit}`,
    advice: 'Set fsync and synchronous_commit to on: without them a power failure loses accepted messages.',
  };
}

/**
 * Checks that no pooler lends a session for single transactions: advisory locks and notifications need a session to
 * themselves.
 */
async function checkSessions(pool: Pool): Promise<Finding> {
  const isShared = await sharesSessions(pool);
  return {
    name: 'sessions',
    ok: !isShared,
    detail: isShared ? 'a pooler shares them between connections' : 'one for each connection',
    advice: 'Set pool_mode = session in the pooler, or connect to the server itself.',
  };
}

/** Checks the rights of the database's user: some are needed only when the partitions of the next week are created. */
async function checkRights(pool: Pool): Promise<Finding> {
  const missing = await findMissingRights(pool);
  return {
    name: 'rights',
    ok: missing.length === 0,
    detail: missing.length === 0 ? 'complete' : `missing: ${missing.map(({ what }) => what).join(', ')}`,
    advice: `Run as a superuser, in this database: ${missing.map(({ cure }) => `${cure};`).join(' ')}`,
  };
}

async function checkRestoreGuard(pool: Pool): Promise<Finding> {
  const { state, reason } = await findGuardStatus(pool);
  return {
    name: 'sending',
    ok: state !== 'paused',
    detail: state === 'paused' ? `paused: ${reason}` : 'not paused',
    advice:
      'See the queued messages with `fence show`, then decide: `fence confirm` sends it, `fence discard` does not.',
  };
}

/** Checks that no message of the queue was missing when its turn came. */
export async function checkQueue(pool: Pool): Promise<Finding> {
  const lost = (await countLost(pool)).reduce((sum, { messages }) => sum + messages, 0);
  return {
    name: 'queue',
    ok: lost === 0,
    detail: lost === 0 ? 'all messages exist' : `${lost} messages were queued and do not exist: they were not sent`,
    advice: 'Table lost_chunk has their ids. Report it: see docs/runbooks/stuck-queue.md.',
  };
}

/** Checks that no route is priced below its carrier's charge, as far as costs are known. */
async function checkCosts(pool: Pool): Promise<Finding> {
  const [worst, ...others] = await listUnderCost(pool);
  const more = others.length === 0 ? '' : `; ${others.length} more routes`;
  return {
    name: 'prices',
    ok: worst === undefined,
    detail: worst ? `${describeUnderCost(worst)}${more}` : 'no route is priced below a known cost',
    advice: 'Raise the price (`price set`), use another connection (`route add`), or correct the cost (`cost set`).',
  };
}

/** Checks that every served country with an obligation for senders has a rule for them. */
export async function checkSenders(pool: Pool, now = new Date()): Promise<Finding> {
  const due = obligationsOn(now.toISOString().slice(0, 10));
  const unruled = await listUnruled(pool, { prefixes: due.map(({ prefix }) => prefix) });
  const named = unruled.map(({ prefix, messages }) => {
    const { country, from, effect } = due.find((each) => each.prefix === prefix) as SenderObligation;
    return `+${prefix} (${country}${from === null ? '' : `, since ${from}`}: ${effect}): ${messages} messages in ${SERVED_DAYS} days`;
  });
  return {
    name: 'senders',
    ok: named.length === 0,
    detail:
      named.length === 0 ? 'all served countries with an obligation have a rule' : `no rule for ${named.join('; ')}`,
    advice: 'Set a rule (`sender-rule set`) and record what is registered (`registered-sender add`).',
  };
}

/** Reports whether the program can send mails. A missing mail server is not an error. */
const checkMail = ({ mail }: Config): Finding => ({
  name: 'mail',
  ok: true,
  detail: mail ? `from ${mail.from}` : 'off: SMTP_URL is not set',
});

/** Checks that alerts reach their recipients. Having no recipients is a decision, not a fault. */
async function checkAlerts({ mail }: Config, pool: Pool): Promise<Finding> {
  const { all, byMail, failing } = await countAlertTargets(pool);
  const noServer = byMail > 0 && mail === undefined;
  return {
    name: 'alerts',
    ok: failing === 0 && !noServer,
    detail: all === 0 ? 'no recipients' : `${all} recipients, of whom ${failing} cannot be reached`,
    advice: noServer
      ? 'Set SMTP_URL and MAIL_FROM: some recipients are notified by mail.'
      : 'See the output of `alerts targets`. Notices wait for three days.',
  };
}

async function checkClock(pool: Pool): Promise<Finding> {
  const before = Date.now();
  const { now } = await findClock(pool);
  const gap = Math.abs(now.getTime() - (before + Date.now()) / 2);
  return {
    name: 'clock',
    ok: gap < MAX_CLOCK_GAP_MS,
    detail: `${Math.round(gap)} ms from the database's clock`,
    advice: 'Synchronise both machines by NTP: message ids and schedules use this clock.',
  };
}

async function checkDisk({ dataDir }: Config): Promise<Finding> {
  const free = await findFreeBytes(dataDir);
  const advice = 'Set DATA_DIR to the folder that the program uses, and run this as its user.';
  if (free === null) return { name: 'disk', ok: false, detail: `${dataDir} does not exist or cannot be read`, advice };
  return {
    name: 'disk',
    ok: free > MIN_FREE_BYTES,
    detail: `${(free / 1024 ** 3).toFixed(1)} GiB free in ${dataDir}`,
    advice: 'Free some space or lower RETENTION_DAYS: below 2 GiB the database may stop.',
  };
}

/** Checks a bucket by writing a file; the folder of files is checked with its disk. */
async function checkFiles(config: Config): Promise<Finding> {
  if (config.storage.kind === 'file') return { name: 'files', ok: true, detail: `in ${config.dataDir}` };
  const storage = await openStorage(config);
  const fault = await findStorageFault(storage);
  await storage.close();
  return {
    name: 'files',
    ok: fault === undefined,
    detail: `bucket ${config.storage.bucket}: ${fault ?? 'can be written and read'}`,
    advice: 'Uploads and exports fail until this is corrected. See STORAGE in docs/configuration.md.',
  };
}

async function checkTls(config: Config, makeServer: MakeServer): Promise<Finding> {
  if (!config.tls) {
    const detail = config.trustProxy.length > 0 ? 'ends at a proxy in front' : 'none, loopback only';
    return { name: 'tls', ok: true, detail };
  }
  try {
    makeServer(config);
    const endsAt = await findCertificateEnd(config);
    return {
      name: 'tls',
      ok: endsAt === null || endsAt.getTime() - Date.now() > MIN_CERTIFICATE_MS,
      detail: `${config.tls.certFile}${endsAt === null ? '' : `, until ${endsAt.toISOString()}`}`,
      advice: 'Renew the certificate and restart the program.',
    };
  } catch (error) {
    return {
      name: 'tls',
      ok: false,
      detail: String(error),
      advice: 'Set TLS_CERT and TLS_KEY to matching PEM files.',
    };
  }
}

async function checkSecrets(config: Config, pool: Pool): Promise<Finding> {
  const key = await loadSecretKey(config);
  const unreadable = (await listConnections(pool)).filter((connection) => {
    if (connection.sandboxState === 'retired') return false;
    try {
      secretOf(connection, key);
      return false;
    } catch {
      return true;
    }
  });
  return {
    name: 'secrets',
    ok: unreadable.length === 0,
    detail:
      unreadable.length === 0 ? 'readable' : `sealed with another key: ${unreadable.map((c) => c.name).join(', ')}`,
    advice: 'Set SECRET_KEY to the key with which they were sealed, or enter the passwords again.',
  };
}

async function checkCarriers(pool: Pool): Promise<Finding[]> {
  const connections = await listConnectionStatus(pool);
  return connections.map((connection) => ({
    name: `${connection.kind} ${connection.name}`,
    ok: connection.up || connection.status === 'paused',
    detail: connection.startsLater
      ? STARTS_LATER
      : connection.status === 'paused'
        ? 'paused'
        : describeLinks(connection),
    advice: 'Is a worker running? `connection test` connects from here and shows the response of the carrier.',
  }));
}

/** Checks the setup at the carriers of all connections that are up; a carrier that is down is a finding already. */
async function checkSetups(config: Config, pool: Pool): Promise<Finding[]> {
  const key = await loadSecretKey(config);
  const up = new Set((await listConnectionStatus(pool)).flatMap(({ name, ...seen }) => (seen.up ? [name] : [])));
  const connections = (await listConnections(pool)).filter(({ name, status }) => status === 'active' && up.has(name));
  const checked = await Promise.all(
    connections.map(async (connection) => {
      // A secret that cannot be read is a separate finding.
      const steps = await checkSetup(connection, key).catch(() => []);
      return steps.map(
        ({ name, ...step }): Finding => ({ name: `${connection.kind} ${connection.name}: ${name}`, ...step }),
      );
    }),
  );
  return checked.flat();
}

/** Reports of networks about our accounts and senders in the past week that require action. */
async function checkNotices(pool: Pool): Promise<Finding[]> {
  return (await listSeriousNotices(pool)).map(({ connection, text, at }) => ({
    name: `notice to ${connection}`,
    ok: false,
    detail: `${at.toISOString()} ${text}`,
    advice:
      'See what the console of the network requires. This is shown for a week, or until the network withdraws it.',
  }));
}

/** The last error is shown only while the connection is down. */
function describeLinks({ bindsUp, bindsWanted, up, fault, lastError, lastErrorAt }: ConnectionSummary): string {
  const links = `${bindsUp} of ${bindsWanted} links up`;
  if (fault !== null) return `${links}, ${fault}`;
  return up || lastError === null ? links : `${links}, last at ${lastErrorAt?.toISOString()}: ${lastError}`;
}

/** Finds the version of the server and the settings that decide whether commits survive a power loss. */
async function findDurability(db: Db): Promise<{ version: string; commit: string; fsync: string }> {
  return one(
    db,
    sql`SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commit,
               current_setting('fsync') AS fsync`,
  );
}

/** Finds the time of the database server. */
async function findClock(db: Db): Promise<{ now: Date }> {
  return one(db, sql`SELECT clock_timestamp() AS now`);
}

const ALERT_TARGETS = columns({
  all: as<number>('count(*)'),
  byMail: as<number>("count(*) FILTER (WHERE kind <> 'webhook')"),
  failing: as<number>('count(failing_since)'),
});

/** Counts the recipients of alerts, those notified by mail, and those whose last notification failed. */
const countAlertTargets = (db: Db): Promise<RowOf<typeof ALERT_TARGETS>> =>
  one(db, sql`SELECT ${ALERT_TARGETS} FROM alert_target`);

/** Returns the free bytes where the data is stored; null when the folder cannot be read. */
export async function findFreeBytes(dataDir: string): Promise<number | null> {
  const disk = await statfs(dataDir).catch(() => null);
  return disk && disk.bavail * disk.bsize;
}

/** Returns the expiry of the TLS certificate in TLS_CERT; null when there is none, or none that can be read. */
export async function findCertificateEnd({ tls }: Pick<Config, 'tls'>): Promise<Date | null> {
  if (!tls) return null;
  try {
    return new X509Certificate(await readFile(tls.certFile)).validToDate;
  } catch {
    return null;
  }
}
