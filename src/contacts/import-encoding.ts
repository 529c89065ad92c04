import { isAscii, isUtf8 } from 'node:buffer';
import { readSync } from 'node:fs';
import { badFile } from './import-check.ts';

/** The encodings of texts that can be read. Only the first four are detected; the others must be requested. */
export const ENCODINGS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'macintosh',
  /** UTF-8, and Windows-1252 in the lines that are not UTF-8. */
  'mixed',
] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Reads the bytes of a file from its beginning; it can be called several times. */
export type Bytes = () => AsyncIterable<Buffer>;

/**
 * Detects the encoding of a file: by its byte order mark; UTF-16 without one by its zeros; otherwise UTF-8 if all of it
 * is valid UTF-8, and Windows-1252 (a superset of printable Latin-1) if not. Reads the whole file.
 * Errors: 400 for a file that is not a text, and, unless a mixture is allowed, for one that mixes UTF-8 with another
 * encoding.
 */
export async function detectEncoding(bytes: Bytes, isMixtureAllowed = false): Promise<Encoding> {
  for await (const start of bytes()) {
    const marked = encodingByMark(start) ?? encodingByZeros(start);
    if (marked !== undefined) return marked;
    break;
  }
  return detectWithoutMark(bytes, isMixtureAllowed);
}

function encodingByMark(start: Buffer): Encoding | undefined {
  const mark = start.subarray(0, 2).toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  return mark === 'feff' ? 'utf-16be' : undefined;
}

/** Detects UTF-16: Western text has a zero in every other byte; a binary file has zeros anywhere. */
function encodingByZeros(start: Buffer): Encoding | undefined {
  const zeros = [0, 0];
  for (const [i, byte] of start.entries()) if (byte === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (even + odd === 0) return undefined;
  if (odd > start.length / 4 && even === 0) return 'utf-16le';
  if (even > start.length / 4 && odd === 0) return 'utf-16be';
  throw badFile('is not a text file: it contains zero bytes');
}

/** Reads in chunks; a byte that is not valid UTF-8 is searched only in a chunk that has one. */
async function detectWithoutMark(bytes: Bytes, isMixtureAllowed: boolean): Promise<Encoding> {
  let multibyte = false;
  let wrongLine = 0;
  let lines = 1;
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of bytes()) {
    const whole = rest.length > 0 ? Buffer.concat([rest, part]) : part;
    const end = whole.length - countUnfinished(whole);
    const chunk = whole.subarray(0, end);
    rest = whole.subarray(end);
    if (!isAscii(chunk)) {
      const found = isUtf8(chunk) ? { multibyte: true, wrongAt: -1 } : findInvalid(chunk);
      multibyte ||= found.multibyte;
      if (found.wrongAt >= 0 && wrongLine === 0)
        wrongLine = lines + countByte(chunk.subarray(0, found.wrongAt), NEW_LINE);
    }
    lines += wrongLine === 0 ? countByte(chunk, NEW_LINE) : 0;
  }
  if (rest.length > 0 && wrongLine === 0) wrongLine = lines;
  if (wrongLine === 0) return 'utf-8';
  if (multibyte && isMixtureAllowed) return 'mixed';
  if (multibyte) throw badFile(`mixes UTF-8 with another encoding, first in line ${wrongLine}`);
  return 'windows-1252';
}

const NEW_LINE = 10;

function countByte(chunk: Buffer, byte: number): number {
  let found = 0;
  for (let at = chunk.indexOf(byte); at >= 0; at = chunk.indexOf(byte, at + 1)) found++;
  return found;
}

/** Counts the bytes at the end of a chunk that belong to a sequence which continues in the next chunk. */
function countUnfinished(chunk: Buffer): number {
  for (let back = 1; back <= Math.min(3, chunk.length); back++) {
    const byte = chunk[chunk.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

/** Returns the length of the sequence that this byte begins, as far as one byte can tell. */
const lengthOf = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1);

/**
 * Finds out if there is any multi-byte sequence of UTF-8, and the position of the first byte that belongs to no
 * sequence.
 */
function findInvalid(chunk: Buffer): { multibyte: boolean; wrongAt: number } {
  let multibyte = false;
  let wrongAt = -1;
  for (let at = 0; at < chunk.length; ) {
    const length = lengthOf(chunk[at] ?? 0);
    const fits = length > 1 ? continues(chunk, at, length) : (chunk[at] ?? 0) < 0x80;
    if (fits && length > 1) multibyte = true;
    if (!fits && wrongAt < 0) wrongAt = at;
    at += fits ? length : 1;
  }
  return { multibyte, wrongAt };
}

/** First bytes after which not every second byte is allowed: overlong forms, surrogates, code points beyond Unicode. */
const SPECIAL: ReadonlySet<number> = new Set([0xe0, 0xed, 0xf0, 0xf4]);

/** Checks one sequence. It makes no slice for it: a large file in another encoding has millions of them. */
function continues(chunk: Buffer, at: number, length: number): boolean {
  const first = chunk[at] ?? 0;
  if (first > 0xf4 || SPECIAL.has(first)) return isUtf8(chunk.subarray(at, at + length));
  for (let i = at + 1; i < at + length; i++) if (((chunk[i] ?? 0) & 0xc0) !== 0x80) return false;
  return true;
}

/** Decodes a file: yields its text, piece by piece, without the byte order mark. */
export async function* decoded(bytes: Bytes, encoding: Encoding): AsyncGenerator<string> {
  if (encoding === 'mixed') return yield* decodedByLine(bytes);
  const decoder = new TextDecoder(encoding);
  for await (const part of bytes()) yield decoder.decode(part, { stream: true });
  yield decoder.decode();
}

/** Length from which lines are decoded in pieces: a row has at most 64 KiB. */
const MAX_LINE_BYTES = 1024 * 1024;

async function* decodedByLine(bytes: Bytes): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of bytes()) {
    const whole = rest.length > 0 ? Buffer.concat([rest, part]) : part;
    const end = whole.length > MAX_LINE_BYTES ? whole.length : whole.lastIndexOf(NEW_LINE) + 1;
    yield linesIn(whole.subarray(0, end));
    rest = whole.subarray(end);
  }
  yield linesIn(rest);
}

function linesIn(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\ufeff/, '');
  let text = '';
  for (let begin = 0; begin < bytes.length; ) {
    const at = bytes.indexOf(NEW_LINE, begin);
    const end = at < 0 ? bytes.length : at + 1;
    const line = bytes.subarray(begin, end);
    text += isUtf8(line) ? line.toString('utf8') : WINDOWS.decode(line);
    begin = end;
  }
  return text;
}

const WINDOWS = new TextDecoder('windows-1252');

const CHUNK_BYTES = 64 * 1024;

/**
 * Yields the bytes of an open file from `start` up to `end`, in chunks with a new buffer each. It blocks while it
 * reads, so it is for separate threads only. It is used because a stream of Node would close the file at the end.
 */
export function* readBytes(fd: number, start: number, end: number): Generator<Buffer> {
  for (let at = start; at < end; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const length = readSync(fd, chunk, 0, chunk.length, at);
    if (length === 0) return;
    yield chunk.subarray(0, length);
    at += length;
  }
}
