import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Client } from '../../test/support/client.ts';
import { formOf } from '../../test/support/http/form.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { exportAll, type ExportedFile, type Row } from './exports.ts';
import { imported, isLive, standsFor } from './live.ts';
import { type RandomSource, type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { openStage } from '../lib/stage.ts';

const ROWS: Readonly<Record<Mode, number>> = { tiny: 60, quick: 600, full: 4500 };
const PATH = '/api/partner-gateway/v1/contacts';
/** The API refuses longer names. */
const MAX_NAME_LENGTH = 100;

export const csv: Proof = {
  promise: 'Hostile cells are imported as plain text, and no file that we write has an active cell.',
  sabotage: {
    fault: 'only the beginning of a cell is checked for a formula',
    file: new URL('../sabotage/csv.ts', import.meta.url),
    breaks: ['no cell of the rejects file is a formula', 'no cell of an export is a formula'],
    mode: 'tiny',
  },
  prove,
};

/** Formulas, links, references to other files; characters that hide them; characters that break a file. */
const CELLS = [
  '=1+1',
  "=cmd|' /C calc'!A0",
  '=HYPERLINK("https://example.com/?x="&A1,"Click")',
  '=IMPORTXML(CONCAT("https://example.com/",A1),"//a")',
  "='file:///etc/passwd'#$Sheet1.A1",
  '=WEBSERVICE("https://example.com")',
  '+1+1',
  '-2+3+cmd|" /C calc"!A0',
  '@SUM(1+1)*cmd|" /C calc"!A0',
  '\t=1+1',
  '\r=1+1',
  '\n=1+1',
  ' =1+1',
  '"=1+1"',
  '","=1+1',
  '\r\n=1+1,=2+2',
  "'=1+1",
  '\u202e=1+1',
  '\u200b=1+1',
  '＝1+1',
  ';=1+1;',
  "Anna;=cmd|' /C calc'!A0;x",
  'Anna|=1+1',
  'Anna\t@SUM(1)',
  'Anna\n-1+1',
  'Anna; \u200b"=1+1"',
  '\u2060\u00ad=1+1',
  '\u3164+1+1',
  '<script>alert(1)</script>',
  '{{fullName}}',
  '${7*7}',
  '%0A=1+1',
  '\\',
  '"',
  '""',
  'NULL',
  "'; DROP TABLE contact; --",
  '𝄞é\u0301',
  '0123',
  '1e5',
  '2027-01-31',
];

function rowOf(chance: RandomSource, n: number): Row {
  const cell = (): string => oneOf(chance, CELLS) + (chance.random.chance(0.3) ? oneOf(chance, CELLS) : '');
  const good = n % 2 === 0;
  return {
    number: good ? `+39333${1_000_000 + n}` : `${cell()}?${n}`,
    name: cell().slice(0, MAX_NAME_LENGTH),
    note: cell(),
    good,
  };
}

/** A CSV line written by hand: every cell in quotes, nothing else changed. */
const quoted = (cells: readonly string[]): string => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, { gateway: 'serve' });
  const account = await stage.newAccount({ plan: 'unlimited' });
  const { client } = account;
  const report = createFaultLog(run);
  const rows = Array.from({ length: ROWS[run.mode] }, (_, n) => rowOf(run, n));
  const content = [['=phone', '+name', '@note'], ...rows.map(({ number, name, note }) => [number, name, note])];
  const mapping = { '=phone': 'phoneNumber', '+name': 'lastName', '@note': 'customField.note' };
  const importId = await upload(client, content.map(quoted).join('\n'), mapping);
  const changed = await compareContacts(client, rows, report);
  const { body: rejects } = await client.request('GET', `${PATH}/imports/${importId}/rejects`);
  const written = parse(String(rejects), { relax_column_count: true });
  const live = written.flat().filter((cell) => isLive(cell, true));
  for (const cell of live) report(cell, `an active cell: ${JSON.stringify(cell)}`);
  const lost = rows.filter((row, i) => !row.good && !isWritten(written, row, i)).length;
  const { exported, liveExported, lostExported, files, contacts } = await exportAll(stage, account, rows);
  const other = await stage.newAccount({ plan: 'unlimited' });
  await upload(other.client, contacts.octets.toString(), OWN_COLUMNS);
  const changedAgain = await compareContacts(other.client, rows, report);
  const office = await openInOffice(run, [{ name: 'rejects.csv', octets: Buffer.from(String(rejects)) }, ...files]);
  if (office === null) run.log('LibreOffice is not installed: that part was not run');
  return judge(
    {
      rows: rows.length,
      rejected: written.length - 1,
      changed,
      live: live.length,
      lost,
      exported,
      liveExported,
      lostExported,
      changedAgain,
      officeFormulas: office?.formulas ?? -1,
      officeUnread: office?.unread ?? -1,
    },
    {
      'every cell of a good row is in its contact, unchanged': changed === 0,
      'every rejected row is in the file of rejected rows': lost === 0 && written.length - 1 === rows.length / 2,
      'no cell of the rejects file is a formula': live.length === 0,
      'no cell of an export is a formula': liveExported === 0,
      'every cell is in the exports, with numbers unchanged': lostExported === 0,
      'an export that is imported elsewhere makes the same contacts': changedAgain === 0,
      'LibreOffice opens every file': office === null || office.unread === 0,
      'LibreOffice finds no formula': office === null || office.formulas === 0,
    },
  );
}

type Report = (kind: string, sentence: string) => void;

const OWN_COLUMNS = { phoneNumber: 'phoneNumber', lastName: 'lastName', note: 'customField.note' };

async function upload(client: Client, content: string, mapping: object): Promise<number> {
  const form = await formOf({ name: 'a.csv', content }, { mapping: JSON.stringify(mapping), removeHead: true });
  const answer = await client.request('POST', `${PATH}/upload`, form);
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return (answer.body as { importId: number }).importId;
}

/** Counts the contacts that differ from their row. */
async function compareContacts(client: Client, rows: readonly Row[], report: Report): Promise<number> {
  const found = new Map<string, { lastName: string | null; customFields: { note?: string } }>();
  for (let page = 0; ; page++) {
    const { body } = await client.request('GET', `${PATH}?limit=1000&page=${page}`);
    const { data } = body as { data: { phoneNumber: string; lastName: string; customFields: { note?: string } }[] };
    for (const contact of data) found.set(contact.phoneNumber, contact);
    if (data.length === 0) break;
  }
  return rows.filter(({ number, name, note, good }) => {
    if (!good) return false;
    const contact = found.get(number);
    const same = contact?.lastName === imported(name) && contact.customFields.note === imported(note);
    if (!same) report(name, `${JSON.stringify([name, note])} became ${JSON.stringify(contact)}`);
    return !same;
  }).length;
}

/** Whether the row is in the file of rejected rows, apart from apostrophes. */
function isWritten(written: readonly string[][], { number, name, note }: Row, n: number): boolean {
  const row = written[1 + Math.floor(n / 2)] ?? [];
  return [number, name, note].every((cell, i) => standsFor(row[i], cell));
}

const OFFICE_TIMEOUT_MS = 120_000;

type Office = { readonly formulas: number; readonly unread: number };

/**
 * Opens the files in LibreOffice: the number of formulas that it sees, and of files that it cannot open; null if it is
 * not installed.
 */
async function openInOffice({ folder }: Run, files: readonly ExportedFile[]): Promise<Office | null> {
  for (const { name, octets } of files) await writeFile(join(folder, name), octets);
  const paths = files.map(({ name }) => join(folder, name));
  const profile = `-env:UserInstallation=file://${folder}/office`;
  const args = ['--headless', profile, '--convert-to', 'fods', '--outdir', folder, ...paths];
  const child = execFile('soffice', args, { timeout: OFFICE_TIMEOUT_MS });
  const [code] = await once(child, 'exit').catch(() => [null]);
  if (code !== 0) return null;
  const sheets = paths.map((path) => readFile(path.replace(/\.\w+$/, '.fods'), 'utf8').catch(() => null));
  const read = (await Promise.all(sheets)).filter((sheet) => sheet !== null);
  return { formulas: read.join('').split('table:formula=').length - 1, unread: files.length - read.length };
}
