import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from } from 'pg-copy-streams';
import { type Backend, openBackend } from './lib/backend.ts';
import { nameOf } from './lib/names.ts';
import type { Report } from './lib/report.ts';
import { allTimeFigures, p50 } from './lib/times.ts';

const FEW = 10_000;
const MANY = Number(process.argv[3] ?? 1_000_000);
const LISTS = 50;
const READS = 300;
const ROWS_PER_CHUNK = 1000;

type Bench = { readonly backend: Backend; readonly listIds: readonly number[] };

/**
 * Searches and lists a million contacts in 50 lists, compared with ten thousand: through HTTP, one request after the
 * other.
 */
export async function benchContacts(): Promise<Report> {
  await using backend = await openBackend();
  await backend.call('DELETE', '/contacts?notIds=0', {});
  const bench: Bench = { backend, listIds: await makeLists(backend) };
  await fill(bench, 0, FEW);
  const few = await measure(bench, FEW);
  await fill(bench, FEW, MANY);
  const many = await measure(bench, MANY);
  const slower = Math.max(...SEARCHES.map((name) => p50(many[name]) / p50(few[name])));
  const figures = {
    contacts: MANY,
    slowestSearchRatio: slower,
    ...allTimeFigures(few, 'few.'),
    ...allTimeFigures(many, 'many.'),
  };
  return { name: 'contacts', ratio: 3 / slower, target: 1, figures };
}

async function makeLists({ call }: Backend): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 1; n <= LISTS; n++) {
    const { id } = await call<{ id: number }>('POST', '/contacts/list', { name: `List ${n}` });
    ids.push(id);
  }
  return ids;
}

/** Spreads values by multiplication, so that names, numbers and lists are unrelated. */
const spread = (n: number, factor: number, below: number): number =>
  Number((BigInt(n) * BigInt(factor)) % BigInt(below));

const contactOf = (n: number) => ({
  first: nameOf(spread(n, 48_271, 399), 2),
  last: nameOf(spread(n, 69_621, 159_989), 4),
  number: `+393${String(spread(n, 39_916_801, 1_000_000_007))
    .padStart(9, '0')
    .slice(-9)}`,
});

/** Stores contacts with COPY, then lists and counters with SQL. */
async function fill({ backend, listIds }: Bench, start: number, end: number): Promise<void> {
  const { db, accountId } = backend;
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
    if (lines.length === ROWS_PER_CHUNK) yield lines.splice(0).join('');
  }
  yield lines.join('');
}

const SEARCHES = ['searchNumber', 'searchName', 'listPage', 'pageWithTotal'] as const;
type Times = Record<(typeof SEARCHES)[number] | 'countedPage' | 'addAll' | 'removeAll', number[]>;

async function measure({ backend, listIds }: Bench, contacts: number): Promise<Times> {
  const someone = (i: number) => contactOf(spread(i + 1, 104_729, contacts));
  const page = (i: number): string => `limit=20&page=${i % 10}`;
  const expectSome = async (path: string): Promise<void> => {
    if ((await backend.call<{ total: number }>('GET', path)).total === 0) throw new Error(`nothing found: ${path}`);
  };
  const reads = (times: number, path: (i: number) => string): Promise<number[]> =>
    timed(times, (i) => expectSome(path(i)));
  await reads(50, (i) => `/contacts?${page(i)}`);
  const all = (method: string) => (i: number) =>
    backend.call(method, '/contacts/list/contacts', { listIds: [listIds[i]], allContacts: true });
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
  return taken;
}
