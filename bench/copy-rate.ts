import { randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import type { Pool } from 'pg';
import { from } from 'pg-copy-streams';

const ROWS_A_STATEMENT = 10_000;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);

/**
 * The limit of the machine: rows/s of binary COPY, 10,000 rows a statement, into a table like `message` with its
 * primary key. The rows are encoded before the clock starts, so this is PostgreSQL's rate and nobody else's.
 */
export async function copyRate(pool: Pool, rows: number): Promise<number> {
  await pool.query('DROP TABLE IF EXISTS bench_copy');
  await pool.query('CREATE TABLE bench_copy (LIKE message INCLUDING ALL)');
  const statements = Math.ceil(rows / ROWS_A_STATEMENT);
  const blocks = Array.from({ length: statements }, (_, i) => encodeBlock(i * ROWS_A_STATEMENT));
  const start = performance.now();
  for (const block of blocks) await copy(pool, block);
  const seconds = (performance.now() - start) / 1000;
  await pool.query('DROP TABLE bench_copy');
  return (statements * ROWS_A_STATEMENT) / seconds;
}

async function copy(pool: Pool, block: Buffer): Promise<void> {
  const client = await pool.connect();
  try {
    const stream = client.query(
      from(`COPY bench_copy (account_id, id, channel, source, simulation, connection_id, sender, destination, body,
              parts, want_receipt) FROM STDIN BINARY`),
    );
    stream.end(block);
    await once(stream, 'finish');
  } finally {
    client.release();
  }
}

function encodeBlock(first: number): Buffer {
  const rows = Array.from({ length: ROWS_A_STATEMENT }, (_, i) => encodeRow(first + i));
  return Buffer.concat([SIGNATURE, ...rows, TRAILER]);
}

const field = (value: Buffer): Buffer => Buffer.concat([uint32(value.length), value]);
const uint32 = (n: number): Buffer => {
  const out = Buffer.allocUnsafe(4);
  out.writeInt32BE(n);
  return out;
};
const int64 = (n: number): Buffer => {
  const out = Buffer.allocUnsafe(8);
  out.writeBigInt64BE(BigInt(n));
  return out;
};
const text = (value: string): Buffer => Buffer.from(value);

function encodeRow(n: number): Buffer {
  const fields = [
    int64(1),
    Buffer.from(randomUUIDv7().replaceAll('-', ''), 'hex'),
    text('SMS'),
    text('API'),
    Buffer.from([0]),
    int64(1),
    text('Heliograph'),
    text(destinationOf(n)),
    text(BODY),
    Buffer.from([0, 1]),
    Buffer.from([1]),
  ];
  return Buffer.concat([Buffer.from([0, fields.length]), ...fields.map(field)]);
}

export const BODY = 'Your parcel arrives today between 10 and 12. Track it at example.com/t/4711.';
/** Ends below 9000: the sandbox gives meanings to the endings from 9901 on. */
export const destinationOf = (n: number): string =>
  `+3933${1000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;
