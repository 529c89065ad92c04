import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { to } from 'pg-copy-streams';
import { inlineValues } from '../src/core/db/query.ts';
import { messageRows, selectRows } from '../src/exports/rows.ts';
import { idRangeOf } from '../src/stats/history.ts';
import { until } from '../test/support/until.ts';
import { type Backend, openBackend } from './lib/backend.ts';
import type { Report } from './lib/report.ts';

const ROWS = Number(process.argv[3] ?? 5_000_000);
const SHEET_ROWS = ROWS / 10;
const MAX_MB = 300;
const ROWS_PER_STATEMENT = 250_000;
const DEADLINE_MS = 1_200_000;

/**
 * Exports a history of messages as CSV, from the request to the end of the job, compared with COPY of the same query to
 * nowhere.
 */
export async function benchExport(): Promise<Report> {
  await using backend = await openBackend();
  const { gateway, db, accountId } = backend;
  const sheetSpan = await store(db, accountId, SHEET_ROWS);
  await store(db, accountId, ROWS - SHEET_ROWS);
  const span = { ...sheetSpan, endDateTime: new Date().toISOString() };
  const idleMb = gateway.peakMb();
  const copySeconds = await copyToNowhere(db, accountId, span);
  const csv = await exported(backend, { ...span, format: 'csv' }, ROWS);
  const csvPeakMb = gateway.peakMb();
  const packed = await exported(backend, { ...sheetSpan, format: 'csv.gz' }, SHEET_ROWS);
  const sheet = await exported(backend, { ...sheetSpan, format: 'xlsx' }, SHEET_ROWS);
  const figures = {
    rows: ROWS,
    rowsPerSecond: ROWS / csv.seconds,
    copyRowsPerSecond: ROWS / copySeconds,
    megabytes: csv.sizeBytes / 2 ** 20,
    idleMb,
    peakMb: csvPeakMb,
    peakMbTarget: MAX_MB,
    sheetRows: SHEET_ROWS,
    sheetRowsPerSecond: SHEET_ROWS / sheet.seconds,
    compressedRowsPerSecond: SHEET_ROWS / packed.seconds,
    sheetPeakMb: gateway.peakMb(),
  };
  return { name: 'export', ratio: copySeconds / csv.seconds, target: 0.5, figures };
}

type Span = { readonly startDateTime: string; readonly endDateTime: string };

/** Stores delivered messages, one in ten with an error; returns the span in which they were accepted. */
async function store(db: pg.Client, accountId: number, rows: number): Promise<Span> {
  const startDateTime = new Date().toISOString();
  for (let from = 0; from < rows; from += ROWS_PER_STATEMENT) {
    const count = Math.min(ROWS_PER_STATEMENT, rows - from);
    await db.query(
      `WITH made AS (
         INSERT INTO message (account_id, id, client_id, channel, source, simulation, connection_id, sender, destination, body,
           parts, want_receipt, price_micros)
         SELECT $1, uuidv7(), 'order-' || n, 'SMS', 'API', false, 1, 'Heliograph', '+39333' || lpad(n::text, 7, '0'),
           'Your order is on its way', 1, true, 35000
         FROM generate_series($2::bigint, $3::bigint) AS n RETURNING id)
       INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, done_at, updated_at,
         error_code, error_text)
       SELECT $1, id, 3, 1, 1, id::text, now(), now(), now(), CASE WHEN uuid_hash(id) % 10 = 0 THEN '000' END,
         CASE WHEN uuid_hash(id) % 10 = 0 THEN 'stat:DELIVRD err:000, "as said"' END FROM made`,
      [accountId, from + 1, from + count],
    );
  }
  await db.query('VACUUM (ANALYZE) message, message_state');
  return { startDateTime, endDateTime: new Date().toISOString() };
}

async function copyToNowhere(db: pg.Client, accountId: number, { startDateTime, endDateTime }: Span): Promise<number> {
  const range = idRangeOf(new Date(startDateTime), new Date(endDateTime));
  const query = selectRows(messageRows({ accountId, ...range }, { reports: false }), 'csv');
  const start = performance.now();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(db.query(to(`COPY (${inlineValues(query)}) TO STDOUT (FORMAT csv, HEADER)`)), nowhere);
  return (performance.now() - start) / 1000;
}

type Exported = { readonly seconds: number; readonly sizeBytes: number };
type Job = { readonly status: string; readonly rows: number; readonly sizeBytes: number };

async function exported({ call }: Backend, body: object, rows: number): Promise<Exported> {
  const start = performance.now();
  const { exportId } = await call<{ exportId: string }>('POST', '/messages/history/export', body);
  const poll = async () => {
    const job = await call<Job>('GET', `/exports/${exportId}`);
    return job.status !== 'PENDING' && job;
  };
  const job = await until('the end of the export', poll, DEADLINE_MS);
  if (job.rows !== rows) throw new Error(`${rows} rows expected: ${JSON.stringify(job)}`);
  return { seconds: (performance.now() - start) / 1000, sizeBytes: job.sizeBytes };
}
