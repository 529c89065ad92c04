import { randomInt } from 'node:crypto';
import { type Backend, openBackend } from './lib/backend.ts';
import type { Report } from './lib/report.ts';
import { p99, timeFigures } from './lib/times.ts';

const THREADS = Number(process.argv[3] ?? 100_000);
const MESSAGES_PER_THREAD = 10;
/** This many of them are answers, whose statuses are looked up. */
const ANSWERS_PER_THREAD = 2;
const READS = Number(process.argv[4] ?? 400);
const WARM_UP = 30;
const SMALL_FACTOR = 100;
const TARGET = 2;
const PATH = '/inbox/conversations';

/** The queries, for a random conversation. */
const QUERIES: Readonly<Record<'list' | 'thread' | 'search', readonly ((chatId: string) => string)[]>> = {
  list: [
    () => PATH,
    () => `${PATH}?unreadOnly=true&limit=20`,
    () => `${PATH}?channelIds=WHATSAPP&limit=20`,
    () => `${PATH}?page=5&limit=20`,
    () => `${PATH}?orderBy=-unreadCount`,
  ],
  thread: [
    (chatId) => `${PATH}/${chatId}`,
    (chatId) => `${PATH}/${chatId}/messages`,
    (chatId) => `${PATH}/${chatId}/messages?idFrom=${chatId}&limit=5`,
    (chatId) => `${PATH}/${chatId}/messages?limit=3`,
  ],
  // A word of every message, one of every thousandth, one of the older half alone, a number that one message has, and none.
  search: ['messages usual', 'refund', 'summer', '4711', 'nowhere'].map(
    (words) => () => `/inbox/messages?search=${encodeURIComponent(words)}`,
  ),
};

/**
 * Reads pages of an inbox of a million messages in 100,000 threads through HTTP, and of one of a hundredth of that
 * size, in turns, from two gateways on the same machine. The p99 of lists and of threads may be twice as long. Searches in
 * the texts of both are reported next to them.
 */
export async function benchInbox(): Promise<Report> {
  await using small = await openBackend();
  await using large = await openBackend();
  const inboxes = [await fill(small, THREADS / SMALL_FACTOR), await fill(large, THREADS)];
  const figures: Record<string, number> = {
    threads: THREADS,
    messages: THREADS * MESSAGES_PER_THREAD,
    reads: READS,
  };
  const times = await measure(inboxes);
  const ratios = (['list', 'thread'] as const).map((kind) => {
    const [few, many] = times[kind];
    Object.assign(figures, timeFigures(`${kind}Small`, few), timeFigures(`${kind}Large`, many));
    return p99(many) / p99(few);
  });
  const [few, many] = times.search;
  Object.assign(figures, timeFigures('searchSmall', few), timeFigures('searchLarge', many));
  const worst = Math.max(...ratios);
  return { name: 'inbox', ratio: TARGET / worst, target: 1, figures: { ...figures, worstTimesSmall: worst } };
}

type Times = Record<keyof typeof QUERIES, [few: number[], many: number[]]>;

/** A gateway, and the ids of its conversations. */
type Inbox = { readonly backend: Backend; readonly chatIds: readonly string[] };

async function measure(inboxes: readonly Inbox[]): Promise<Times> {
  const times: Times = { list: [[], []], thread: [[], []], search: [[], []] };
  for (let i = -WARM_UP; i < READS; i++)
    for (const [kind, queries] of Object.entries(QUERIES) as [keyof Times, (typeof QUERIES)[keyof Times]][])
      for (const queryOf of queries)
        for (const [n, { backend, chatIds }] of inboxes.entries()) {
          const taken = await backend.time(queryOf(chatIds[randomInt(chatIds.length)] ?? ''));
          if (i >= 0) times[kind][n]?.push(taken);
        }
  return times;
}

/** Stores conversations: every tenth is unread, every twentieth archived, and half of them belong to contacts. */
async function fill(backend: Backend, threads: number): Promise<Inbox> {
  const { db, accountId } = backend;
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
       'One of the messages of a thread, of the usual length of such a text: order ' || row_number() OVER () ||
         CASE WHEN m * 2 <= $2 THEN ' in summer' ELSE '' END ||
         CASE WHEN row_number() OVER () % 1000 = 0 THEN ' refund' ELSE '' END, now()
     FROM (SELECT m, account_id, chat_id FROM generate_series(1, $2) AS m, conversation ORDER BY m) AS each`,
    [ANSWERS_PER_THREAD, MESSAGES_PER_THREAD],
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
  const { rows } = await db.query<{ id: string }>('SELECT chat_id AS id FROM conversation');
  return { backend, chatIds: rows.map(({ id }) => id) };
}
