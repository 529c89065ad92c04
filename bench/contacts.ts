import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { attachEmbedded } from '../src/db/embedded.ts';
import { silentLog } from '../src/lib/log.ts';
import { removeDataDir } from '../src/testing/data-dir.ts';
import { temporaryFolder } from '../src/testing/temporary-folder.ts';
import { runCommand } from './processes.ts';
import type { Report } from './report.ts';

const FEW = 10_000;
const MANY = Number(process.argv[3] ?? 1_000_000);
const LISTS = 50;
const READS = 300;
const ROWS_A_CHUNK = 1000;

type Client = { get(path: string): Promise<Page>; send(method: string, path: string, body: object): Promise<unknown> };
type Page = { readonly total: number; readonly data: readonly { readonly id: number }[] };
type Bench = {
  readonly db: pg.Client;
  readonly client: Client;
  readonly accountId: number;
  readonly listIds: number[];
};

/** Contacts among a million in 50 lists, beside the same among ten thousand: over HTTP, one request after the other. */
export async function benchContacts(): Promise<Report> {
  const dataDir = await temporaryFolder('heliograph-bench-');
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0', SANDBOX: 'off' });
  const server = await attachEmbedded({ dataDir, log: silentLog });
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  try {
    const { apiKey, accountId } = gateway.ready['demo'] as { apiKey: string; accountId: number };
    const client = clientOf(String(gateway.ready['address']), apiKey);
    await client.send('DELETE', '/contacts?notIds=0', {});
    const bench: Bench = { db, client, accountId, listIds: await makeLists(client) };
    await fill(bench, 0, FEW);
    const few = await measure(bench, FEW);
    await fill(bench, FEW, MANY);
    const many = await measure(bench, MANY);
    const slower = Math.max(...SEARCHES.map((name) => p50(many[name]) / p50(few[name])));
    const figures = { contacts: MANY, slowestSearchRatio: slower, ...shown('few', few), ...shown('many', many) };
    return { name: 'contacts', ratio: 3 / slower, target: 1, figures };
  } finally {
    await db.end();
    await server.release();
    await gateway.stop();
    await removeDataDir(dataDir);
  }
}

function clientOf(address: string, apiKey: string): Client {
  async function request(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${address}/api/partner-gateway/v1${path}`, {
      method,
      headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }
  return { get: async (path) => (await request('GET', path)) as Page, send: request };
}

async function makeLists(client: Client): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 1; n <= LISTS; n++) {
    const { id } = (await client.send('POST', '/contacts/list', { name: `List ${n}` })) as { id: number };
    ids.push(id);
  }
  return ids;
}

/** Spread by multiplication, so that names, numbers and lists have nothing to do with each other. */
const spread = (n: number, factor: number, below: number): number =>
  Number((BigInt(n) * BigInt(factor)) % BigInt(below));
const SYLLABLES = 'an be ca do el fa gi ho ir ju ka lo mi no or pe ru sa ti ve'.split(' ');
const wordOf = (n: number, syllables: number): string =>
  Array.from({ length: syllables }, (_, i) => SYLLABLES[Math.floor(n / 20 ** i) % 20]).join('');

const contactOf = (n: number) => ({
  first: wordOf(spread(n, 48_271, 399), 2),
  last: wordOf(spread(n, 69_621, 159_989), 4),
  number: `+393${String(spread(n, 39_916_801, 1_000_000_007))
    .padStart(9, '0')
    .slice(-9)}`,
});

/** By COPY; lists and counters follow in SQL. */
async function fill({ db, accountId, listIds }: Bench, start: number, end: number): Promise<void> {
  const columns = 'account_id, first_name, last_name, phone_number, email, gender, is_valid, channels';
  const copy = db.query(from(`COPY contact (${columns}) FROM STDIN`));
  await pipeline(Readable.from(linesOf(accountId, start, end)), copy);
  await db.query(
    `INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
     SELECT account_id, ($2::bigint[])[1 + id % $3], id, lower(full_name) FROM contact WHERE account_id = $1
     ON CONFLICT DO NOTHING`,
    [accountId, listIds, LISTS],
  );
  await db.query(
    `UPDATE contact_list l SET contact_count = (SELECT count(*) FROM contact_list_member m
       WHERE m.account_id = l.account_id AND m.list_id = l.id) WHERE account_id = $1`,
    [accountId],
  );
  await db.query('UPDATE contact_book SET contacts = $2 WHERE account_id = $1', [accountId, end]);
  await db.query('VACUUM (ANALYZE) contact, contact_list_member');
}

function* linesOf(accountId: number, start: number, end: number): Generator<string> {
  const lines: string[] = [];
  for (let n = start; n < end; n++) {
    const { first, last, number } = contactOf(n);
    const email = n % 3 === 0 ? `${first}.${last}@example.com` : '\\N';
    lines.push(`${accountId}\t${first}\t${last}\t${number}\t${email}\t${n % 2 ? 'MALE' : 'FEMALE'}\tt\t7\n`);
    if (lines.length === ROWS_A_CHUNK) yield lines.splice(0).join('');
  }
  yield lines.join('');
}

const SEARCHES = ['searchNumber', 'searchName', 'listPage', 'pageWithTotal'] as const;
type Times = Record<(typeof SEARCHES)[number] | 'countedPage' | 'addAll' | 'removeAll', number[]>;

async function measure({ client, listIds }: Bench, contacts: number): Promise<Times> {
  const someone = (i: number) => contactOf(spread(i + 1, 104_729, contacts));
  const page = (i: number): string => `limit=20&page=${i % 10}`;
  const expectSome = async (path: string): Promise<void> => {
    if ((await client.get(path)).total === 0) throw new Error(`nothing found: ${path}`);
  };
  const reads = (times: number, path: (i: number) => string): Promise<number[]> =>
    timed(times, (i) => expectSome(path(i)));
  await reads(50, (i) => `/contacts?${page(i)}`);
  const all = (method: string) => (i: number) =>
    client.send(method, '/contacts/list/contacts', { listIds: [listIds[i]], allContacts: true });
  const changes = contacts > FEW ? 3 : 10;
  return {
    searchNumber: await reads(READS, (i) => `/contacts?search=${someone(i).number.slice(-8)}`),
    searchName: await reads(READS, (i) => `/contacts?search=${someone(i).first}%20${someone(i).last}`),
    listPage: await reads(READS, (i) => `/contacts/list/${listIds[i % LISTS]}/contacts?${page(i)}`),
    pageWithTotal: await reads(READS, (i) => `/contacts?${page(i)}`),
    countedPage: await reads(20, (i) => `/contacts?gender=MALE&isTest=false&${page(i)}`),
    addAll: await timed(changes, all('POST')),
    removeAll: await timed(changes, all('DELETE')),
  };
}

async function timed(times: number, work: (i: number) => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    await work(i);
    taken.push(performance.now() - start);
  }
  return taken.sort((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
const p50 = (sorted: readonly number[]): number => at(sorted, 0.5);

const shown = (size: string, times: Times): Record<string, number> =>
  Object.fromEntries(
    Object.entries(times).flatMap(([name, sorted]) => [
      [`${size}.${name}.p50Ms`, p50(sorted)],
      [`${size}.${name}.p99Ms`, at(sorted, 0.99)],
    ]),
  );
