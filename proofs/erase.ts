import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { attachEmbedded } from '../src/core/db/embedded.ts';
import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import type { Client } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { runOperatorCommand } from '../test/support/operator.ts';
import { until } from '../test/support/until.ts';
import { sendCampaign } from './lib/campaigns.ts';
import { takenByDestination } from './lib/carrier.ts';
import { destinationOf, sendEach } from './lib/messages.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { openStage, type Stage } from './lib/stage.ts';
import { startTraffic, sumOf } from './lib/traffic.ts';
import { CONVERSATIONS_STAY } from './sabotage/in-database.ts';

type Size = { readonly people: number; readonly erased: number };
const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { people: 200, erased: 5 },
  quick: { people: 2000, erased: 30 },
  full: { people: 10_000, erased: 100 },
};

const PG = '/api/partner-gateway/v1';
const OURS = '390212345678';
/** The share of receipts that come after the erasure. */
const RECEIPT_MS = 4000;
const SEND_EVERY_MS = 20;
const ERASED_TIMEOUT_MS = 600_000;
const CONTACTS_AT_A_TIME = 8;

export const erase: Proof = {
  promise: 'A person who is erased is nowhere any more, is not written to again, and stays erased after a restore.',
  sabotage: {
    fault: 'an erasure does not reach the texts of conversations',
    sql: CONVERSATIONS_STAY,
    breaks: ['nothing of the erased is in the database'],
    mode: 'tiny',
  },
  prove,
};

/** A person. Only the words of those who are erased are looked for. */
type Person = { readonly number: string; readonly name: string; readonly email: string; readonly word: string };

const leaverOf = (n: number): Person => ({
  number: `+393470135${String(n).padStart(3, '0')}`,
  name: `Zoe Quillfeather${n}`,
  email: `zoe${n}@quillfeather.example`,
  word: `zanzibar${n}`,
});
const stayerOf = (n: number): Person => ({
  number: destinationOf(n),
  name: `Ada Plainfeather${n}`,
  email: `ada${n}@plainfeather.example`,
  word: `timbuktu${n}`,
});

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  // A backup is made of the server's own folder.
  await using stage = await openStage(
    { ...run, databaseUrl: null },
    { gateway: 'serve', script: { receiptDelayMs: RECEIPT_MS }, environment: { LOG_LEVEL: 'debug' } },
  );
  const leavers = Array.from({ length: size.erased }, (_, n) => leaverOf(n));
  const stayers = Array.from({ length: size.people - size.erased }, (_, n) => stayerOf(n));
  await fill(stage, [...leavers, ...stayers]);
  const before = await searchDatabase(stage);
  const backup = join(run.folder, 'backup');
  await runOperatorCommand(stage, 'backup', 'create', '--to', backup);
  run.log(`${size.people} people are in ${Object.keys(before).length} tables; the load begins`);

  const sent = { toErased: 0 };
  let done = false;
  const traffic = startTraffic([
    {
      name: 'stay',
      everyMs: SEND_EVERY_MS,
      once: () => sendOne(stage.client, oneOf(run, stayers)).then(() => undefined),
    },
    {
      name: 'leave',
      everyMs: SEND_EVERY_MS,
      async once() {
        const isOver = done;
        if ((await sendOne(stage.client, oneOf(run, leavers))) && isOver) sent.toErased++;
      },
    },
  ]);
  const start = performance.now();
  const erasures = await Promise.all(leavers.map((person) => requestErasure(run, stage.client, person)));
  const ended = await untilErased(stage.client, erasures);
  const seconds = (performance.now() - start) / 1000;
  done = true;
  const takenAt = await countTaken(stage, leavers);
  await delay(RECEIPT_MS);
  await traffic.stop();
  run.log(`${ended} erasures in ${seconds.toFixed(1)} s under ${sumOf(traffic.done)} requests`);
  await untilNoReceiptIsOwed(stage);
  const takenLater = (await countTaken(stage, leavers)) - takenAt;

  const database = await searchDatabase(stage);
  const feed = await searchFeed(stage.client);
  const files = await until(
    'the removal of files',
    async () => {
      const found = await searchFiles(join(run.folder, 'data', 'files'));
      return found.length === 0 && [found];
    },
    30_000,
  ).then(
    () => [] as string[],
    () => searchFiles(join(run.folder, 'data', 'files')),
  );
  const stayersFound = await countStayers(stage, stayers);
  const server = await searchServer(stage);
  await stage.gateway.stop();
  const logs = await searchLogs(run);

  const restored = await checkRestored(run, stage, { backup, leavers });
  for (const [where, found] of Object.entries({ database, files, logs, feed, restored: restored.found }))
    if (Object.keys(found).length > 0) run.log(`found in ${where}: ${JSON.stringify(found)}`);
  const figures = {
    people: size.people,
    erased: ended,
    eraseSeconds: Math.round(seconds * 10) / 10,
    requests: sumOf(traffic.done),
    tablesBefore: Object.keys(before).length,
    tablesAfter: Object.keys(database).length,
    files: files.length,
    logs: logs.length,
    feed,
    ...figuresOf('erased', server.erased),
    ...figuresOf('vacuumed', server.vacuumed),
    ...figuresOf('rewritten', server.rewritten),
    takenLater,
    acceptedLater: sent.toErased,
    restoredTablesBefore: restored.tablesBefore,
    restoredFound: Object.keys(restored.found).length,
    restoredAccepted: restored.accepted,
  };
  return judge(figures, {
    'each erasure ends': ended === size.erased,
    'the people were in the database before, and in the backup':
      Object.keys(before).length > 10 && restored.tablesBefore > 10,
    'nothing of the erased is in the database': Object.keys(database).length === 0,
    'nothing of the erased is in files or exports': files.length === 0,
    'nothing of the erased is in logs': logs.length === 0,
    'rewritten tables have no bytes of the erased': server.rewritten.tables === 0,
    'nothing of the erased is in the feed': feed === 0,
    'the erased are not written to again': takenLater + sent.toErased === 0,
    'the others are as before': stayersFound === stayers.length,
    'after a restore the erased are not written to, and are erased again':
      restored.accepted === 0 && Object.keys(restored.found).length === 0,
  });
}

async function ask(client: Client, method: string, path: string, body?: object): Promise<unknown> {
  const response = await client.request(method, `${PG}${path}`, body === undefined ? {} : { body });
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
  return response.body;
}

/** Puts the people everywhere: contacts, consents, messages of all kinds, conversations, a campaign, files, the feed. */
async function fill({ client, carrier, pool }: Stage, people: readonly Person[]): Promise<void> {
  await ask(client, 'PUT', '/event-feed/settings', { enabled: true });
  await pool.query(
    'INSERT INTO inbound_number (connection_id, number, account_id) SELECT 1, $1, min(id) FROM account',
    ['*'],
  );
  for (let i = 0; i < people.length; i += CONTACTS_AT_A_TIME)
    await Promise.all(
      people
        .slice(i, i + CONTACTS_AT_A_TIME)
        .map(({ number, name, email }) =>
          ask(client, 'POST', '/contacts', { phoneNumber: number, fullName: name, email }),
        ),
    );
  const consents = people.map(({ number, word }) => ({
    to: number,
    channel: 'SMS',
    purpose: 'marketing',
    state: 'OPTED_IN',
    proof: { text: word },
  }));
  for (let i = 0; i < consents.length; i += 1000)
    await ask(client, 'PUT', '/consents', { consents: consents.slice(i, i + 1000) });
  await sendEach(
    { client },
    people.map(({ number, word }) => ({ destination: number, body: `Hello ${word}` })),
  );
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const some = people.slice(0, 150);
  for (const { number, word } of some) {
    await client.send({ phoneNumber: number, message: `Later ${word}`, scheduledDate: later });
    await carrier.inbound({ source: number.slice(1), destination: OURS, text: `I am ${word}, at ${number}` });
  }
  await sendCampaign(
    client,
    people.map(({ number }, n) => (n % 2 === 0 ? number : spaced(number))),
  );
  await until('the exports', async () => {
    await ask(client, 'POST', '/exports/contacts', { format: 'csv.gz' });
    await ask(client, 'POST', '/messages/history/export', {
      startDateTime: new Date(Date.now() - 3_600_000).toISOString(),
      endDateTime: new Date().toISOString(),
      format: 'csv',
    });
    return true;
  });
  await until('the files of the exports', async () => {
    const { rows } = await pool.query("SELECT count(*)::int AS ready FROM export WHERE status = 'COMPLETED'");
    return rows[0].ready === 2;
  });
}

/** Writes a number as people do. */
const spaced = (number: string): string =>
  `${number.slice(0, 3)} ${number.slice(3, 6)} ${number.slice(6, 9)} ${number.slice(9)}`;

const sendOne = async (client: Client, { number, word }: Person): Promise<boolean> =>
  (await client.send({ phoneNumber: number, message: `Hi ${word}`, customerMessageId: `${word}-${Math.random()}` }))
    .results[0]?.accepted === true;

async function requestErasure(run: Run, client: Client, { number }: Person): Promise<string> {
  const to = oneOf(run, [number, spaced(number), `00${number.slice(1)}`]);
  return ((await ask(client, 'POST', '/privacy/erasures', { to })) as { erasureId: string }).erasureId;
}

/** Waits for the ends of erasures. Returns the number of those that ended. */
async function untilErased(client: Client, erasures: readonly string[]): Promise<number> {
  let open = erasures;
  await until(
    'the erasures',
    async () => {
      const states = await Promise.all(open.map((id) => ask(client, 'GET', `/privacy/erasures/${id}`)));
      open = open.filter((_, n) => (states[n] as { state: string }).state !== 'DONE');
      return open.length === 0;
    },
    ERASED_TIMEOUT_MS,
  ).catch(() => undefined);
  return erasures.length - open.length;
}

async function countTaken(stage: Stage, people: readonly Person[]): Promise<number> {
  const taken = takenByDestination(await stage.carrier.ledger());
  return people.reduce((sum, { number }) => sum + (taken.get(number)?.length ?? 0), 0);
}

const untilNoReceiptIsOwed = ({ carrier, pool }: Stage): Promise<unknown> =>
  until('all receipts', async () => {
    const { rows } = await pool.query('SELECT count(*)::int AS left FROM receipt_batch');
    return (await carrier.counts()).owed === 0 && rows[0].left === 0;
  });

const WORDS = ['quillfeather', 'zanzibar'];
const SEPARATOR = '[ .\\-()/\\u00a0]?';
/** A number of the erased, with and without its country code, however it is grouped. */
const NUMBER = new RegExp(
  `(?<![0-9a-f])(?:39${SEPARATOR})?${[...'3470135'].join(SEPARATOR)}(?:${SEPARATOR}\\d){3}(?![0-9a-f])`,
);

/** The spellings of a word or the common digits of the numbers, in lower case: as it is, in hex (UTF-8, UCS-2). */
const inHex = (word: string): string[] =>
  (['utf8', 'utf16le'] as const).map((encoding) => {
    const bytes = Buffer.from(word, encoding);
    return (encoding === 'utf8' ? bytes : bytes.swap16()).toString('hex');
  });
/** The part of the Base64 of a word that is the same whatever stands before and behind it. */
const inBase64 = (word: string): string[] =>
  [0, 1, 2].map((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), Buffer.from(word)]);
    return whole.toString('base64').slice(offset === 0 ? 0 : offset + 1, Math.floor(whole.length / 3) * 4);
  });
const PLAIN = [...WORDS, ...[...WORDS, '3470135'].flatMap(inHex)];
const ENCODED = [...WORDS, 'Quillfeather', '+393470135'].flatMap(inBase64);

/** Returns the first spelling of an erased person in a text; null if there is none. */
function traceIn(text: string): string | null {
  const lower = text.toLowerCase();
  return (
    PLAIN.find((word) => lower.includes(word)) ??
    ENCODED.find((word) => text.includes(word)) ??
    NUMBER.exec(lower)?.[0] ??
    null
  );
}

/** Searches every row of every table. Returns the first trace by table. */
async function searchDatabase({ pool }: Pick<Stage, 'pool'>): Promise<Readonly<Record<string, string>>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
  );
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t`);
    const trace = traceIn(rows.map(({ row }) => row).join('\n'));
    if (trace !== null) found[name] = trace;
  }
  return found;
}

/** Searches a folder of files, unpacked where they are packed. Returns the names of the files with a trace. */
async function searchFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const bytes = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
    const text = bytes.subarray(0, 2).toString('hex') === '1f8b' ? gunzipSync(bytes) : bytes;
    const trace = traceIn(`${entry.name} ${text.toString('latin1')}`);
    if (trace !== null) found.push(`${entry.name}: ${trace}`);
  }
  return found;
}

/** Searches the logs of the program and of PostgreSQL. */
async function searchLogs({ folder }: Run): Promise<string[]> {
  const files = [join(folder, 'stderr.log'), join(folder, 'data', 'postgres.log')];
  const found: string[] = [];
  for (const file of files) {
    const trace = traceIn(await readFile(file, 'utf8').catch(() => ''));
    if (trace !== null) found.push(`${file}: ${trace}`);
  }
  return found;
}

/** Pieces of the erased as PostgreSQL stores them. Compressed values hide theirs: none of these texts is long enough. */
const STORED = ['uillfeather', 'zanzibar', '3470135'].map((piece) => Buffer.from(piece));

/** Counts the files of the server with bytes of the erased: tables and their indexes, the write-ahead log, and others. */
async function countServerFiles(folder: string) {
  const counts = { tables: 0, wal: 0, others: 0 };
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (!STORED.some((piece) => bytes.includes(piece))) continue;
    counts[path.includes('/base/') ? 'tables' : path.includes('/pg_wal/') ? 'wal' : 'others']++;
  }
  return counts;
}

/**
 * Searches the files of the server: as the erasures leave them, after VACUUM, and after VACUUM FULL, which rewrites
 * every table. Rows that no query finds are bytes until their space is used again.
 */
async function searchServer({ pool }: Stage) {
  const { rows } = await pool.query<{ folder: string }>("SELECT current_setting('data_directory') AS folder");
  const folder = rows[0]?.folder ?? '';
  const after = async (...statements: readonly string[]) => {
    for (const statement of statements) await pool.query(statement);
    return countServerFiles(folder);
  };
  return {
    erased: await after('CHECKPOINT'),
    vacuumed: await after('VACUUM', 'SELECT pg_switch_wal()', 'CHECKPOINT'),
    rewritten: await after('VACUUM FULL', 'SELECT pg_switch_wal()', 'CHECKPOINT'),
  };
}

type Counts = Awaited<ReturnType<typeof countServerFiles>>;

const figuresOf = (when: string, counts: Counts): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(counts).map(([kind, files]) => [`${when} ${kind}`, files]));

/** Reads the whole feed. Returns the number of pages with a trace. */
async function searchFeed(client: Client): Promise<number> {
  let found = 0;
  for (let after: string | null = null; ; ) {
    const query: string = after === null ? '' : `&after=${after}`;
    const page = (await ask(client, 'GET', `/event-feed?limit=1000${query}`)) as {
      events: object[];
      next: string | null;
    };
    if (traceIn(JSON.stringify(page.events)) !== null) found++;
    if (page.events.length === 0 || page.next === null) return found;
    after = page.next;
  }
}

async function countStayers({ pool }: Stage, stayers: readonly Person[]): Promise<number> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS kept FROM contact c WHERE full_name LIKE 'Ada Plainfeather%'
       AND EXISTS (SELECT FROM message m WHERE m.destination = c.phone_number AND m.body LIKE 'Hello timbuktu%')`,
  );
  return Math.min(rows[0].kept, stayers.length);
}

type Restored = { readonly backup: string; readonly leavers: readonly Person[] };

/** Restores the backup from before the erasures beside the present files, and starts the gateway on it. */
async function checkRestored(run: Run, stage: Stage, { backup, leavers }: Restored) {
  const dataDir = join(run.folder, 'restored');
  const operator = { environment: { ...stage.environment, DATA_DIR: dataDir } };
  await runOperatorCommand(operator, 'backup', 'restore', '--from', backup);
  await cp(join(run.folder, 'data', 'files'), join(dataDir, 'files'), { recursive: true });
  const { process, client } = await stage.startGateway({ DATA_DIR: dataDir });
  try {
    const server = await attachEmbedded({ dataDir, log: silentLog });
    await server.release();
    await using opened = new AsyncDisposableStack();
    const pool = createPool(server.connectionString, { max: 2, applicationName: 'proof', log: silentLog });
    opened.defer(() => pool.end());
    const tablesBefore = Object.keys(await searchDatabase({ pool })).length;
    const answers = await Promise.all(leavers.map((person) => sendOne(client, person)));
    await until(
      'the erasures of the restored database',
      async () => {
        const { rows } = await pool.query('SELECT count(*)::int AS done FROM erasure WHERE done_at IS NOT NULL');
        return rows[0].done >= leavers.length;
      },
      ERASED_TIMEOUT_MS,
    ).catch(() => undefined);
    const found = await searchDatabase({ pool });
    return { tablesBefore, found, accepted: answers.filter(Boolean).length };
  } finally {
    await process.stop();
    await removeDataDir(dataDir);
  }
}
