import { once } from 'node:events';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';

const ROWS_PER_STATEMENT = 10_000;
const SIGNATURE_BYTES = 19;
const TRAILER = Buffer.from([0xff, 0xff]);

/** The rows of one table in the binary form of COPY, cut into statements of 10,000 rows. */
type Dump = { readonly table: string; readonly columns: string; readonly rows: number; readonly blocks: Buffer[] };

/**
 * Measures the limit of the machine: how fast binary COPY writes the rows that a run left behind (messages and their
 * states), with all their columns, into empty tables with the same indexes and storage options, with 10,000 rows per
 * statement. The rows are encoded before the clock starts, so this is the rate of PostgreSQL alone.
 *
 * @returns messages per second (each with its state), and the rate of the message rows alone
 */
export async function copyRate(
  connectionString: string,
): Promise<{ messagesPerSecond: number; messageRowsPerSecond: number }> {
  // A separate connection: COPY does not work over one that pipelines.
  const client = new pg.Client({ connectionString });
  await client.connect();
  const messages = await dump(client, 'message');
  const states = await dump(client, 'message_state');
  const messageSeconds = await load(client, messages);
  const stateSeconds = await load(client, states);
  await client.end();
  return {
    messagesPerSecond: messages.rows / (messageSeconds + stateSeconds),
    messageRowsPerSecond: messages.rows / messageSeconds,
  };
}

async function dump(client: pg.Client, table: string): Promise<Dump> {
  const columns = await columnsOf(client, table);
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(to(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT BINARY`)))
    chunks.push(chunk);
  const { blocks, rows } = cut(Buffer.concat(chunks));
  return { table, columns, rows, blocks };
}

/** The columns that are stored; the database computes the others. */
async function columnsOf(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? '';
}

/** Each tuple begins with the number of its fields, each field with its length. */
function cut(all: Buffer): { blocks: Buffer[]; rows: number } {
  const signature = all.subarray(0, SIGNATURE_BYTES);
  const blocks: Buffer[] = [];
  let rows = 0;
  let start = SIGNATURE_BYTES;
  let at = start;
  for (let fields = all.readInt16BE(at); fields !== -1; fields = all.readInt16BE(at)) {
    at += 2;
    for (let i = 0; i < fields; i++) at += 4 + Math.max(all.readInt32BE(at), 0);
    if (++rows % ROWS_PER_STATEMENT !== 0) continue;
    blocks.push(Buffer.concat([signature, all.subarray(start, at), TRAILER]));
    start = at;
  }
  if (at > start) blocks.push(Buffer.concat([signature, all.subarray(start, at), TRAILER]));
  return { blocks, rows };
}

async function load(client: pg.Client, { table, columns, blocks }: Dump): Promise<number> {
  await client.query(`CREATE TABLE bench_copy (LIKE ${table} INCLUDING ALL)`);
  const start = performance.now();
  for (const block of blocks) await copy(client, `COPY bench_copy (${columns}) FROM STDIN BINARY`, block);
  const seconds = (performance.now() - start) / 1000;
  await client.query('DROP TABLE bench_copy');
  return seconds;
}

async function copy(client: pg.Client, statement: string, block: Buffer): Promise<void> {
  const stream = client.query(from(statement));
  stream.end(block);
  await once(stream, 'finish');
}
