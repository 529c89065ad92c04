import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { readXlsx } from 'hucre/xlsx';
import { until } from '../test/support/until.ts';
import { type Crew, killPostgres, startCrew } from './lib/kills.ts';
import { countOrphanFiles } from './lib/orphan-files.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';

type Size = { readonly messages: number; readonly exports: number; readonly postgresKills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 2000, exports: 3, postgresKills: 0 },
  quick: { messages: 40_000, exports: 6, postgresKills: 1 },
  full: { messages: 500_000, exports: 100, postgresKills: 20 },
};
/** Messages that are stored in one transaction: an export has all of them or none. */
const GROUP_SIZE = 20;
const MAX_FAULTS = 3;
const DEADLINE_MS = 120_000;
const FORMATS = ['csv', 'csv.gz', 'csv', 'xlsx'] as const;
const PG = '/api/partner-gateway/v1';

export const exportsProof: Proof = {
  promise: 'An export holds every message of its range once, as of one moment, whatever is killed meanwhile.',
  sabotage: {
    fault: 'a broken row stream is taken for a complete one',
    file: new URL('./sabotage/exports.ts', import.meta.url),
    breaks: ['every message of the range is in its export'],
    mode: 'quick',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  const postgresKills = run.databaseUrl === null ? size.postgresKills : 0;
  await using stage = await openStage(run, { gateway: 'api' });
  const account = await stage.newAccount({ plan: 'unlimited' });
  for (let n = 0; n < size.messages / GROUP_SIZE; n++) await storeGroup(stage, account, n);
  const crew = await startCrew(run, stage, 2);
  const sums = { exports: 0, rows: 0, failed: 0, missing: 0, doubled: 0, brokenGroups: 0, faults: 0 };
  for (let n = 0; n < size.exports; n++) {
    const before = await listIds(stage, account);
    const { exportId } = await requestExport(account, FORMATS[n % FORMATS.length] ?? 'csv');
    const growing = storeGroup(stage, account, size.messages + n).catch(() => undefined);
    if (n < postgresKills) {
      // A worker cannot start without its database.
      await crew.allStarted();
      await killPostgres(run, stage);
    }
    sums.faults += await disturb(run, stage, crew);
    const job = await untilCompleted(account, exportId);
    await growing;
    sums.exports++;
    const lines = job.status === 'COMPLETED' ? await readFile(stage, job).catch(() => null) : null;
    if (!lines) sums.failed++;
    // A file that is said to be complete and cannot be read holds no message.
    if (job.status === 'COMPLETED') add(sums, compare(lines ?? [], before));
  }
  const figures = { ...sums, kills: crew.kills, postgresKills, orphans: await countOrphanFiles(run, stage) };
  await crew.allStarted();
  return judge(figures, {
    'every export completes and can be read': sums.failed === 0 && sums.exports === size.exports,
    'every message of the range is in its export': sums.missing === 0,
    'no message is in an export twice': sums.doubled === 0,
    'messages stored in one transaction are exported together': sums.brokenGroups === 0,
    'every other file is listed for deletion': figures.orphans === 0,
    'exports were disturbed': sums.faults > 0 || run.mode === 'tiny',
  });
}

/** Stores GROUP_SIZE messages in one transaction, all with the same sender. */
const storeGroup = ({ pool }: Stage, { accountId }: Account, n: number) =>
  pool.query(
    `INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
     SELECT $1, uuidv7(), 'SMS', 'API', false, $2, '+393331234567', 'Hello', 1, true FROM generate_series(1, $3)`,
    [accountId, `G${n}`, GROUP_SIZE],
  );

async function listIds({ pool }: Stage, { accountId }: Account): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM message WHERE account_id = $1', [accountId]);
  return new Set(rows.map(({ id }) => id));
}

type Job = {
  readonly exportId: string;
  readonly status: string;
  readonly format: string;
  readonly downloadUrl: string;
};

async function requestExport({ client }: Account, format: string): Promise<Job> {
  const body = {
    startDateTime: new Date(Date.now() - 3_600_000).toISOString(),
    endDateTime: new Date(Date.now() + 3_600_000).toISOString(),
    format,
  };
  const answer = await client.request('POST', `${PG}/messages/history/export`, { body });
  if (answer.status !== 202) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body as Job;
}

/** Kills workers and terminates the sessions that read rows, up to MAX_FAULTS times. Returns the number of faults. */
async function disturb(run: Run, stage: Stage, crew: Crew): Promise<number> {
  let faults = 0;
  for (let n = between(run, 1, run.mode === 'tiny' ? 1 : MAX_FAULTS); n > 0; n--) {
    await delay(between(run, 0, 60));
    const killed = oneOf(run, [true, false]);
    if (killed) await crew.killOne();
    faults += killed ? 1 : await cutReader(stage);
  }
  return faults;
}

/**
 * Terminates a session that reads rows; waits up to half a second for one to start. Returns how many were terminated.
 */
async function cutReader({ pool }: Stage): Promise<number> {
  for (let look = 0; look < 100; look++) {
    const { rowCount } = await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'heliograph export' AND query LIKE 'COPY%'`,
    );
    if (rowCount) return rowCount;
    await delay(5);
  }
  return 0;
}

/** Waits until the export has ended. The API may be without its database for a moment. */
const untilCompleted = ({ client }: Account, exportId: string): Promise<Job> =>
  until(
    'the end of the export',
    async () => {
      const { status, body } = await client.request('GET', `${PG}/exports/${exportId}`);
      const job = body as Job;
      return status === 200 && job.status !== 'PENDING' && job;
    },
    DEADLINE_MS,
  );

type Line = { readonly id: string; readonly sender: string };

/** Downloads an export by its link, with the address replaced by the one where the gateway really listens. */
async function readFile({ gateway }: Stage, { downloadUrl, format }: Job): Promise<Line[]> {
  const { pathname, search } = new URL(downloadUrl);
  const octets = await (await fetch(`${gateway.ready['address']}${pathname}${search}`)).bytes();
  const table = format === 'xlsx' ? await sheetOf(octets) : linesOf(format === 'csv.gz' ? gunzipSync(octets) : octets);
  const [head = [], ...rows] = table;
  const [id, sender] = [head.indexOf('messageId'), head.indexOf('sender')];
  return rows.map((cells) => ({ id: String(cells[id]), sender: String(cells[sender]) }));
}

const linesOf = (octets: Uint8Array): unknown[][] => parse(Buffer.from(octets));
const sheetOf = async (octets: Uint8Array): Promise<unknown[][]> => (await readXlsx(octets)).sheets[0]?.rows ?? [];

type Compared = {
  readonly rows: number;
  readonly missing: number;
  readonly doubled: number;
  readonly brokenGroups: number;
};

/** Compares the lines of an export with the ids that were stored before it was requested; later ones may be in it. */
function compare(lines: readonly Line[], before: ReadonlySet<string>): Compared {
  const ids = new Set(lines.map(({ id }) => id));
  const bySender = Map.groupBy(lines, ({ sender }) => sender);
  return {
    rows: lines.length,
    missing: before.difference(ids).size,
    doubled: lines.length - ids.size,
    brokenGroups: [...bySender.values()].filter((group) => group.length !== GROUP_SIZE).length,
  };
}

function add(sums: Record<keyof Compared, number>, compared: Compared): void {
  for (const key of ['rows', 'missing', 'doubled', 'brokenGroups'] as const) sums[key] += compared[key];
}
