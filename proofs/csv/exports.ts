import { randomUUIDv7 } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { readXlsx } from 'hucre/xlsx';
import { until } from '../../test/support/until.ts';
import type { Account, Stage } from '../lib/stage.ts';
import { imported, isLive, standsFor } from './live.ts';

/** A contact as an import file has it, and whether its number is valid. */
export type Row = { readonly number: string; readonly name: string; readonly note: string; readonly good: boolean };

/** A file that was exported. */
export type ExportedFile = { readonly name: string; readonly octets: Buffer };

/** The number of cells written, of active cells, and of rows that are not as they were. */
type Exported = {
  readonly exported: number;
  readonly liveExported: number;
  readonly lostExported: number;
  readonly files: readonly ExportedFile[];
  /** The contacts as CSV. */
  readonly contacts: ExportedFile;
};

const PG = '/api/partner-gateway/v1';
const NUMBER = '+393331234567';
/** Columns in which phone numbers stay unchanged. */
const NUMBERS: ReadonlySet<string> = new Set(['phoneNumber', 'destination', 'sender']);

/**
 * Exports messages with the texts of the rows, and the imported contacts, as CSV and as a workbook, and checks the
 * files.
 */
export async function exportAll(stage: Stage, account: Account, rows: readonly Row[]): Promise<Exported> {
  const ids = await storeMessages(stage, account, rows);
  const hour = 3_600_000;
  const span = {
    startDateTime: new Date(Date.now() - hour).toISOString(),
    endDateTime: new Date(Date.now() + hour).toISOString(),
  };
  const history = await exportFile(stage, account, 'messages/history/export', span);
  const contacts = await exportFile(stage, account, 'exports/contacts', {});
  const sheet = await exportFile(stage, account, 'exports/contacts', { format: 'xlsx' });
  const [messages, people] = [tableOf(history), tableOf(contacts)];
  return {
    exported: [...messages, ...people].reduce((sum, line) => sum + Object.keys(line).length, 0),
    liveExported: [...messages, ...people].flatMap(liveCells).length,
    lostExported:
      countLostMessages(messages, rows, ids) +
      countLostContacts(people, rows, standsFor) +
      countLostContacts(await sheetOf(sheet), rows, plain),
    files: [history, contacts, sheet],
    contacts,
  };
}

async function storeMessages({ pool }: Stage, { accountId }: Account, rows: readonly Row[]): Promise<string[]> {
  const ids = rows.map(() => randomUUIDv7());
  const [names, notes] = [rows.map(({ name }) => name), rows.map(({ note }) => note)];
  await pool.query(
    `INSERT INTO message (account_id, id, client_id, channel, source, simulation, sender, destination, body, parts, want_receipt)
     SELECT $1, u.id, u.name, 'SMS', 'API', true, u.note, '${NUMBER}', '', 1, true
     FROM unnest($2::uuid[], $3::text[], $4::text[]) AS u (id, name, note)`,
    [accountId, ids, names, notes],
  );
  await pool.query(
    `INSERT INTO message_state (account_id, id, status, attempts, updated_at, error_code, error_text)
     SELECT $1, u.id, 6, 1, now(), u.name, u.note FROM unnest($2::uuid[], $3::text[], $4::text[]) AS u (id, name, note)`,
    [accountId, ids, names, notes],
  );
  return ids;
}

async function exportFile({ gateway }: Stage, { client }: Account, path: string, body: object): Promise<ExportedFile> {
  const answer = await client.request('POST', `${PG}/${path}`, { body });
  if (answer.status !== 202) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  const { exportId } = answer.body as { exportId: string };
  const job = await until('the end of the export', async () => {
    const { body: found } = await client.request('GET', `${PG}/exports/${exportId}`);
    const { status, downloadUrl, format } = found as { status: string; downloadUrl: string; format: string };
    return status !== 'PENDING' && { downloadUrl, format };
  });
  const { pathname, search } = new URL(job.downloadUrl);
  const octets = Buffer.from(await (await fetch(`${gateway.ready['address']}${pathname}${search}`)).arrayBuffer());
  return { name: `export-${exportId}.${job.format}`, octets };
}

type Line = Readonly<Record<string, string>>;

const tableOf = ({ octets }: ExportedFile): Line[] => parse(octets, { columns: true });

async function sheetOf({ octets }: ExportedFile): Promise<Line[]> {
  const [head = [], ...rows] = (await readXlsx(octets)).sheets[0]?.rows ?? [];
  return rows.map((cells) => Object.fromEntries(head.map((name, i) => [String(name), String(cells[i] ?? '')])));
}

const liveCells = (line: Line): string[] =>
  Object.entries(line).flatMap(([name, cell]) => (isLive(cell, NUMBERS.has(name)) ? [cell] : []));

type Same = (cell: string | undefined, text: string) => boolean;
/** XML has only one kind of line end. */
const plain: Same = (cell, text) => cell?.replaceAll(/\r\n?/g, '\n') === text.replaceAll(/\r\n?/g, '\n');

function countLostMessages(lines: readonly Line[], rows: readonly Row[], ids: readonly string[]): number {
  const byId = new Map(lines.map((line) => [line['messageId'], line]));
  return rows.filter(({ name, note }, i) => {
    const line = byId.get(ids[i]);
    const [names, notes] = [
      [line?.['customerMessageId'], line?.['errorCode']],
      [line?.['sender'], line?.['errorMessage']],
    ];
    const same = names.every((cell) => standsFor(cell, name)) && notes.every((cell) => standsFor(cell, note));
    return !same || line?.['destination'] !== NUMBER;
  }).length;
}

/** Counts good rows whose contact is not in the file. */
function countLostContacts(lines: readonly Line[], rows: readonly Row[], same: Same): number {
  const byNumber = new Map(lines.map((line) => [line['phoneNumber'], line]));
  return rows.filter(({ number, name, note, good }) => {
    const line = byNumber.get(number);
    return good && !(line && same(line['lastName'], imported(name)) && same(line['note'], imported(note)));
  }).length;
}
