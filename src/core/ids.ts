import { createHash, randomFillSync } from 'node:crypto';
import { Type } from 'typebox';
import { type Db, exec, raw } from './db/query.ts';

const ID_LENGTH = 36;
/** Number of random bytes in one id: two after the time, of which the version takes four bits, and eight more. */
const RANDOM_BYTES = 10;
const IDS_PER_FILL = 256;
/** Random bytes for the next ids: fetching them for each id alone takes 1.2 µs instead of 0.01. */
const random = Buffer.alloc(IDS_PER_FILL * RANDOM_BYTES);
let nextRandom = random.length;

/** The id that is being written, in ASCII; the time in it is `timeInText`. */
const ascii = Buffer.alloc(ID_LENGTH, '-');
let timeInText = Number.NaN;
const HEX = Buffer.from('0123456789abcdef');
/** Positions of the random bytes of an id in its text. */
const RANDOM_AT = [14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const VERSION_AT = 14;
/** The variant is binary 10; the next two bits are those of this random byte. */
const VARIANT_AT = 19;
const VARIANT_BYTE = 2;

function writeTime(ms: number): void {
  if (ms === timeInText) return;
  timeInText = ms;
  const hex = hex12(ms);
  ascii.write(hex.slice(0, 8), 0, 'latin1');
  ascii.write(hex.slice(8), 9, 'latin1');
}

/**
 * Returns a new id: a UUIDv7 (RFC 9562, section 5.7), so that ids sort by time to the millisecond. Node's own
 * `randomUUIDv7` joins twenty strings: that is 560 bytes of garbage, of the 17 kB of a message, and an id that its
 * first reader has to flatten.
 */
export function newId(): string {
  writeId();
  return ascii.toString('latin1');
}

/** Ids of one millisecond that have an order: twelve bits count them. */
const MAX_ORDERED = 0x1000;
let ordered = { ms: 0, count: 0 };

/**
 * Returns a new id that is greater than all that this process has obtained here before: for records that are read in
 * chronological order. The twelve bits after the time count the ids of one millisecond (RFC 9562, section 6.2, method
 * 1); when they do not suffice, or the clock is put back, the time in the id runs ahead of the clock.
 */
export function newOrderedId(): string {
  const now = Date.now();
  if (now > ordered.ms) ordered = { ms: now, count: 0 };
  else if (ordered.count + 1 < MAX_ORDERED) ordered.count += 1;
  else ordered = { ms: ordered.ms + 1, count: 0 };
  const time = hex12(ordered.ms);
  const count = ordered.count.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${newId().slice(18)}`;
}

/** Position of the last byte of an id in its text. */
const LAST_AT = 34;
const SINGLE = '00';
/** Position of the byte before it. */
const MARK_AT = 32;
/** Decision of the caller of a single message about its trace, as the byte before the last one. */
const TRACE_MARKS = { follow: 'f1', ignore: 'f0' } as const;
export type TraceMark = keyof typeof TRACE_MARKS;
/** The same byte of a message that came over SMPP. Of other single messages, one in 256 has it by chance. */
const SMPP = 'd5';

/**
 * Returns a new id for a message that is sent alone, such as a one-time code: its last byte is 00. This makes it
 * recognisable by the id alone, and no row of the message needs another column. One other id in 256 ends so too: it may
 * decide the order of work, never its result. In the same way `mark` is in the byte before: the caller's decision about
 * its trace, or that the message came over SMPP.
 */
export function newSingleId(mark?: TraceMark | 'smpp'): string {
  writeId();
  ascii.write(SINGLE, LAST_AT, 'latin1');
  if (mark) ascii.write(mark === 'smpp' ? SMPP : TRACE_MARKS[mark], MARK_AT, 'latin1');
  // Without a mark the byte never reads like one.
  else if (ascii[MARK_AT] === HEX[15]) ascii[MARK_AT] = HEX[14] ?? 0;
  return ascii.toString('latin1');
}

/** The mark in the id of a message; null without one. One id in 65,536 of messages in bulk has one by chance. */
export function traceMarkOf(id: string): TraceMark | null {
  if (!id.endsWith(SINGLE) || id[MARK_AT] !== 'f') return null;
  const byte = id.slice(MARK_AT, LAST_AT);
  return byte === TRACE_MARKS.follow ? 'follow' : byte === TRACE_MARKS.ignore ? 'ignore' : null;
}

/**
 * Returns true if an id may be that of a message that came over SMPP: no other message need be looked up when something
 * happens to it. True for one other single message in 256, so it never decides the result of work.
 */
export const isSmppId = (id: string): boolean => id.startsWith(SMPP, MARK_AT) && id.endsWith(SINGLE);

/** Returns true if an id is that of a message that is sent alone; also for one other id in 256. */
export const isSingleId = (id: string): boolean => id.endsWith(SINGLE);

function writeId(): void {
  if (nextRandom === random.length) {
    randomFillSync(random);
    nextRandom = 0;
  }
  writeTime(Date.now());
  for (let i = 0; i < RANDOM_BYTES; i++) {
    const byte = random[nextRandom++] ?? 0;
    const at = RANDOM_AT[i] ?? 0;
    ascii[at] = HEX[byte >> 4] ?? 0;
    ascii[at + 1] = HEX[byte & 15] ?? 0;
  }
  ascii[VERSION_AT] = HEX[7] ?? 0;
  const variantByte = random[nextRandom - RANDOM_BYTES + VARIANT_BYTE] ?? 0;
  ascii[VARIANT_AT] = HEX[8 | ((variantByte >> 4) & 3)] ?? 0;
}

const hex12 = (ms: number): string => ms.toString(16).padStart(12, '0');

/** Returns an id derived from this name alone, as a UUIDv8 (RFC 9562, section 5.8) of its SHA-256. */
export function idFrom(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Returns the smallest id that can be created at this instant, but not before 1970: the lower bound of a range of ids. */
export function firstIdAt(at: Date): string {
  const hex = hex12(Math.max(0, at.getTime()));
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const isUuid = (text: string): boolean => UUID.test(text);

/** Returns the lowest and the highest of some ids. Statements on partitioned tables use them to exclude other days. */
export function boundsOf(ids: readonly string[]): [firstId: string, lastId: string] {
  let [first, last] = [ids[0] as string, ids[0] as string];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}

/** The schema of a query field with a list of ids, such as `12,40,41`. It has room for about 2,000 ids. */
export const idList = (description: string) =>
  Type.String({
    maxLength: 20_000,
    pattern: String.raw`^ *\d{1,15} *(, *\d{1,15} *)*$`,
    'x-message': 'must be comma-separated ids',
    description: `${description} Comma-separated ids.`,
  });

/** Parses such a field into distinct ids; undefined if it was omitted. */
export function readIds(text: string): number[];
export function readIds(text: string | undefined): number[] | undefined;
export function readIds(text: string | undefined): number[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(',').map(Number))];
}

/**
 * Makes sure that there is a function `uuidv7`, which PostgreSQL has since version 18 and which the defaults of some
 * columns call. Checked at every start rather than in a migration, because it depends on the server: a backup of
 * PostgreSQL 18 that is restored on 17 lacks the function.
 *
 * As in PostgreSQL 18, the twelve bits after the milliseconds are their fraction (RFC 9562, section 6.2, method 3), and
 * the ids of a session ascend: before it returns, the function waits for the next microsecond of the clock, so that no
 * other call sees the same one. That is slow, but its rows stand for batches. If the clock is put back, ids go back
 * with it.
 */
export const ensureUuidv7 = (db: Db): Promise<number> => exec(db, ENSURE);

const ENSURE = raw(`
  DO $do$
  BEGIN
    IF to_regprocedure('uuidv7(interval)') IS NULL THEN
      CREATE FUNCTION uuidv7(shift interval DEFAULT '0') RETURNS uuid LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
      DECLARE
        now constant timestamptz := clock_timestamp();
        -- 4096 units of a millisecond: three hexadecimal digits behind the twelve of the milliseconds.
        units constant bigint := (extract(epoch FROM now + shift) * 1000000)::bigint * 512 / 125;
      BEGIN
        WHILE clock_timestamp() = now LOOP
        END LOOP;
        -- The version, and of a random UUID the half that begins with the variant.
        RETURN overlay(lpad(to_hex(units), 15, '0') PLACING '7' FROM 13 FOR 0) || right(gen_random_uuid()::text, 18);
      END $$;
    END IF;
  END $do$`);
