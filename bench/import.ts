import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { writeXlsx } from 'hucre/xlsx';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { until } from '../test/support/until.ts';
import { API, type Backend, openBackend } from './lib/backend.ts';
import { nameOf } from './lib/names.ts';
import type { Report } from './lib/report.ts';

const ROWS = Number(process.argv[3] ?? 1_000_000);
const SHEET_ROWS = ROWS / 5;
const MAX_MB = 400;
const ROWS_PER_CHUNK = 1000;
const HEADER = ['phoneNumber', 'firstName', 'lastName', 'email', 'gender'];
const DEADLINE_MS = 1_200_000;

/**
 * Imports contacts from a file through HTTP, from the first byte sent until the last contact is written, compared with
 * COPY of the same rows.
 */
export async function benchImport(): Promise<Report> {
  await using backend = await openBackend();
  const { gateway, db, dataDir } = backend;
  const csv = join(dataDir, 'contacts.csv');
  await writeCsv(csv);
  const imported = await upload(backend, csv, ROWS);
  const csvPeakMb = gateway.peakMb();
  const copySeconds = await copyAgain(db);
  const xlsx = join(dataDir, 'contacts.xlsx');
  await writeSheet(xlsx);
  const sheet = await upload(backend, xlsx, SHEET_ROWS);
  const figures = {
    rows: ROWS,
    rowsPerSecond: ROWS / imported.seconds,
    answeredSeconds: imported.answeredSeconds,
    copyRowsPerSecond: ROWS / copySeconds,
    peakMb: csvPeakMb,
    peakMbTarget: MAX_MB,
    sheetRows: SHEET_ROWS,
    sheetRowsPerSecond: SHEET_ROWS / sheet.seconds,
    sheetPeakMb: gateway.peakMb(),
  };
  return { name: 'import', ratio: copySeconds / imported.seconds, target: 0.3, figures };
}

/** Spreads names and numbers by multiplication, so that they are unrelated to their order in the file. */
function rowOf(n: number): string[] {
  const first = nameOf((n * 48_271) % 399, 2);
  const last = nameOf((n * 69_621) % 159_989, 4);
  const number = `+39333${String((n * 3_916_801) % 9_999_991).padStart(7, '0')}`;
  return [number, first, last, n % 3 === 0 ? `${first}.${last}@example.com` : '', n % 2 === 0 ? 'MALE' : 'FEMALE'];
}

async function writeCsv(path: string): Promise<void> {
  const file = await open(path, 'w');
  await file.write(`${HEADER.join(',')}\n`);
  for (let n = 0; n < ROWS; n += ROWS_PER_CHUNK)
    await file.write(Array.from({ length: ROWS_PER_CHUNK }, (_, i) => `${rowOf(n + i).join(',')}\n`).join(''));
  await file.close();
}

/** Writes a workbook with its texts in a separate table, as Excel does. */
async function writeSheet(path: string): Promise<void> {
  const rows = [HEADER, ...Array.from({ length: SHEET_ROWS }, (_, n) => rowOf(n))];
  const file = await open(path, 'w');
  await file.write(await writeXlsx({ sheets: [{ name: 'Contacts', rows }] }));
  await file.close();
}

type Timed = { readonly seconds: number; readonly answeredSeconds: number };

async function upload({ address, apiKey, call }: Backend, path: string, rows: number): Promise<Timed> {
  const url = `${address}${API}/contacts/upload`;
  const body = new FormData();
  body.append('file', await openAsBlob(path), path.slice(path.lastIndexOf('/') + 1));
  const start = performance.now();
  const secondsSince = (): number => (performance.now() - start) / 1000;
  const answer = await fetch(url, { method: 'POST', headers: { 'x-api-key': apiKey }, body });
  const { importId, ...rest } = (await answer.json()) as { importId: number };
  if (answer.status !== 202) throw new Error(`returned ${answer.status}: ${JSON.stringify(rest)}`);
  const answeredSeconds = secondsSince();
  const poll = async () => {
    const found = await call<Import>('GET', `/contacts/imports/${importId}`);
    return (found.status === 'COMPLETED' || found.status === 'FAILED') && found;
  };
  const { summary } = await until('the end of the import', poll, DEADLINE_MS);
  if (summary.created + summary.updated !== rows) throw new Error(`imported: ${JSON.stringify(summary)}`);
  return { seconds: secondsSince(), answeredSeconds };
}

type Import = { readonly status: string; readonly summary: { readonly created: number; readonly updated: number } };

/** Copies the imported rows, as text, with one COPY into an empty table with the same indexes. */
async function copyAgain(db: pg.Client): Promise<number> {
  const columns =
    'account_id, first_name, last_name, phone_number, email, gender, is_valid, number_type, country, channels';
  await db.query('CREATE TABLE bench_copy (LIKE contact INCLUDING ALL)');
  const { rows } = await db.query<{ line: string }>(
    `SELECT concat_ws(E'\\t', account_id, first_name, last_name, phone_number, coalesce(email, '\\N'), gender, is_valid,
       number_type, country, channels) || E'\\n' AS line FROM contact WHERE NOT is_test`,
  );
  const chunks = Array.from({ length: Math.ceil(rows.length / ROWS_PER_CHUNK) }, (_, i) =>
    rows
      .slice(i * ROWS_PER_CHUNK, (i + 1) * ROWS_PER_CHUNK)
      .map(({ line }) => line)
      .join(''),
  );
  const start = performance.now();
  await pipeline(Readable.from(chunks), db.query(from(`COPY bench_copy (${columns}) FROM STDIN`)));
  const seconds = (performance.now() - start) / 1000;
  await db.query('DROP TABLE bench_copy');
  return seconds;
}
