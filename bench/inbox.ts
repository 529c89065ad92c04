import { randomInt } from 'node:crypto';
import pg from 'pg';
import { attachEmbedded } from '../src/db/embedded.ts';
import { silentLog } from '../src/lib/log.ts';
import { removeDataDir } from '../src/testing/data-dir.ts';
import { temporaryFolder } from '../src/testing/temporary-folder.ts';
import { runCommand } from './processes.ts';
import type { Report } from './report.ts';

const THREADS = Number(process.argv[3] ?? 100_000);
const MESSAGES_A_THREAD = 10;
/** Of these so many are answers, whose statuses are looked up. */
const ANSWERS_A_THREAD = 2;
const READS = Number(process.argv[4] ?? 400);
const WARM_UP = 30;
const SMALLER = 100;
const TARGET = 2;
const PATH = '/api/partner-gateway/v1/inbox/conversations';

/** A gateway with its own database, whose account has so many conversations. */
type House = AsyncDisposable & {
  /** The milliseconds that an answer takes. */
  time(query: string): Promise<number>;
  readonly chatIds: readonly string[];
};

/** What is asked for, of a conversation taken at random. */
const READ: Readonly<Record<'list' | 'thread', readonly ((chatId: string) => string)[]>> = {
  list: [
    () => '',
    () => '?unreadOnly=true&limit=20',
    () => '?channelIds=WHATSAPP&limit=20',
    () => '?page=5&limit=20',
    () => '?orderBy=-unreadCount',
  ],
  thread: [
    (chatId) => `/${chatId}`,
    (chatId) => `/${chatId}/messages`,
    (chatId) => `/${chatId}/messages?idFrom=${chatId}&limit=5`,
    (chatId) => `/${chatId}/messages?limit=3`,
  ],
};

/**
 * Pages of an inbox of a million messages in 100,000 threads over HTTP, beside those of one of a hundredth of it, on two
 * gateways of the same machine, in turns: the p99 of lists and of threads may be twice as long.
 */
export async function benchInbox(): Promise<Report> {
  await using small = await openHouse(THREADS / SMALLER);
  await using large = await openHouse(THREADS);
  const figures: Record<string, number> = {
    threads: THREADS,
    messages: THREADS * MESSAGES_A_THREAD,
    reads: READS,
  };
  const times = await measure(small, large);
  const ratios = (['list', 'thread'] as const).map((kind) => {
    const [few, many] = times[kind];
    Object.assign(figures, shown(`${kind}Small`, few), shown(`${kind}Large`, many));
    return p99(many) / p99(few);
  });
  const worst = Math.max(...ratios);
  return { name: 'inbox', ratio: TARGET / worst, target: 1, figures: { ...figures, worstTimesSmall: worst } };
}

type Times = Record<'list' | 'thread', [few: number[], many: number[]]>;

async function measure(small: House, large: House): Promise<Times> {
  const times: Times = { list: [[], []], thread: [[], []] };
  for (let i = -WARM_UP; i < READS; i++)
    for (const [kind, queries] of Object.entries(READ) as [keyof Times, (typeof READ)[keyof Times]][])
      for (const queryOf of queries)
        for (const [n, house] of [small, large].entries()) {
          const taken = await house.time(queryOf(house.chatIds[randomInt(house.chatIds.length)] ?? ''));
          if (i >= 0) times[kind][n]?.push(taken);
        }
  for (const list of Object.values(times).flat()) list.sort((x, y) => x - y);
  return times;
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
const p99 = (sorted: readonly number[]): number => at(sorted, 0.99);
const shown = (name: string, sorted: readonly number[]): Record<string, number> => ({
  [`${name}P50Ms`]: at(sorted, 0.5),
  [`${name}P99Ms`]: p99(sorted),
});

async function openHouse(threads: number): Promise<House> {
  const dataDir = await temporaryFolder('heliograph-bench-');
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0', SANDBOX: 'off' });
  const server = await attachEmbedded({ dataDir, log: silentLog });
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  const { apiKey, accountId } = gateway.ready['demo'] as { apiKey: string; accountId: number };
  await fill(db, accountId, threads);
  const { rows } = await db.query<{ id: string }>('SELECT chat_id AS id FROM conversation');
  return {
    chatIds: rows.map(({ id }) => id),
    async time(query) {
      const start = performance.now();
      const answer = await fetch(`${gateway.ready['address']}${PATH}${query}`, { headers: { 'x-api-key': apiKey } });
      const text = await answer.text();
      const taken = performance.now() - start;
      if (answer.status !== 200 || text.length < 3) throw new Error(`${query} was answered ${answer.status}: ${text}`);
      return taken;
    },
    async [Symbol.asyncDispose]() {
      await db.end();
      await server.release();
      await gateway.stop();
      await removeDataDir(dataDir);
    },
  };
}

/** Every tenth conversation is unread, every twentieth archived; half of them are contacts'. */
async function fill(db: pg.Client, accountId: number, threads: number): Promise<void> {
  await db.query(
    `INSERT INTO conversation (account_id, chat_id, channel, peer, identity, unread, archived, last_direction, last_type, last_text, last_at)
     SELECT $1, uuidv7(), (ARRAY['SMS', 'RCS', 'WHATSAPP'])[1 + n % 3], '+39333' || (1000000 + n), '4400',
       (n % 10 = 0)::int, n % 20 = 1, 'INBOUND', 'TEXT', 'The newest of thread ' || n, now() - n * interval '1 second'
     FROM generate_series(1, $2::int) AS n`,
    [accountId, threads],
  );
  await db.query(
    `INSERT INTO inbox_count (account_id, archived, channel, unread, conversations)
     SELECT account_id, archived, channel, unread > 0, count(*) FROM conversation GROUP BY 1, 2, 3, 4`,
  );
  await db.query(
    `INSERT INTO contact (account_id, given_full_name, phone_number, is_valid, channels)
     SELECT $1, 'Person ' || n, '+39333' || (1000000 + n), true, 1 FROM generate_series(1, $2::int, 2) AS n
     ON CONFLICT DO NOTHING`,
    [accountId, threads],
  );
  await db.query(
    `INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
     SELECT account_id, chat_id, uuidv7(), CASE WHEN m <= $1 THEN 'OUTBOUND' ELSE 'INBOUND' END, 'TEXT',
       'One of the messages of a thread, of the usual length of such a text.', now()
     FROM generate_series(1, $2) AS m, conversation`,
    [ANSWERS_A_THREAD, MESSAGES_A_THREAD],
  );
  await db.query(
    `INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
     SELECT m.account_id, m.id, c.channel, 'INBOX', false, '4400', c.peer, m.text, 1, true
     FROM inbox_message m JOIN conversation c USING (account_id, chat_id) WHERE m.direction = 'OUTBOUND'`,
  );
  await db.query(
    `INSERT INTO message_state (account_id, id, status, attempts, updated_at)
     SELECT account_id, id, 3, 1, now() FROM inbox_message WHERE direction = 'OUTBOUND'`,
  );
  await db.query('VACUUM (ANALYZE) conversation, inbox_message, inbox_count, contact, message, message_state');
}
