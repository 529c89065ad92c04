import { isAscii, isUtf8 } from 'node:buffer';
import { badFile } from '../limits.ts';

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** The octets of a file from its beginning, as often as they are asked for. */
export type Octets = () => AsyncIterable<Buffer>;

/**
 * Tells the encoding from the content: a byte order mark; UTF-16 without one by its zeros; else UTF-8 if all of it is;
 * else Windows-1252, of which Latin-1 is a part. Reads the whole file.
 * Errors: 400 for a file that is no text, and for one that has UTF-8 and something else.
 */
export async function detectEncoding(octets: Octets): Promise<Encoding> {
  for await (const start of octets()) {
    const marked = encodingByMark(start) ?? encodingByZeros(start);
    if (marked !== undefined) return marked;
    break;
  }
  return detectWithoutMark(octets);
}

function encodingByMark(start: Buffer): Encoding | undefined {
  const mark = start.subarray(0, 2).toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  return mark === 'feff' ? 'utf-16be' : undefined;
}

/** Text of the western world in UTF-16 has a zero in every other place; a binary file has them anywhere. */
function encodingByZeros(start: Buffer): Encoding | undefined {
  const zeros = [0, 0];
  for (const [i, octet] of start.entries()) if (octet === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (even + odd === 0) return undefined;
  if (odd > start.length / 4 && even === 0) return 'utf-16le';
  if (even > start.length / 4 && odd === 0) return 'utf-16be';
  throw badFile('is no text: it holds zeros');
}

/** Counts in chunks; an octet that UTF-8 cannot have is looked for only in the chunk that has one. */
async function detectWithoutMark(octets: Octets): Promise<Encoding> {
  let multibyte = false;
  let wrongLine = 0;
  let lines = 1;
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of octets()) {
    const whole = rest.length > 0 ? Buffer.concat([rest, part]) : part;
    const end = whole.length - countUnfinished(whole);
    const chunk = whole.subarray(0, end);
    rest = whole.subarray(end);
    if (!isAscii(chunk)) {
      const found = isUtf8(chunk) ? { multibyte: true, wrongAt: -1 } : findInvalid(chunk);
      multibyte ||= found.multibyte;
      if (found.wrongAt >= 0 && wrongLine === 0)
        wrongLine = lines + countOctet(chunk.subarray(0, found.wrongAt), NEW_LINE);
    }
    lines += wrongLine === 0 ? countOctet(chunk, NEW_LINE) : 0;
  }
  if (rest.length > 0 && wrongLine === 0) wrongLine = lines;
  if (wrongLine === 0) return 'utf-8';
  if (multibyte) throw badFile(`mixes UTF-8 with another encoding, first in line ${wrongLine}`);
  return 'windows-1252';
}

const NEW_LINE = 10;

function countOctet(chunk: Buffer, octet: number): number {
  let found = 0;
  for (let at = chunk.indexOf(octet); at >= 0; at = chunk.indexOf(octet, at + 1)) found++;
  return found;
}

/** How many octets of a sequence that goes on in the next chunk stand at the end. */
function countUnfinished(chunk: Buffer): number {
  for (let back = 1; back <= Math.min(3, chunk.length); back++) {
    const octet = chunk[chunk.length - back] ?? 0;
    if (octet < 0x80) return 0;
    if (octet >= 0xc0) return lengthOf(octet) > back ? back : 0;
  }
  return 0;
}

/** Of the sequence that this octet begins, as far as one octet can tell. */
const lengthOf = (octet: number): number => (octet >= 0xf0 ? 4 : octet >= 0xe0 ? 3 : octet >= 0xc2 ? 2 : 1);

/** Whether there is any sequence of several octets in UTF-8, and where the first octet is that belongs to none. */
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

/** First octets after which not every second one is allowed: forms that are too long, halves of pairs, beyond Unicode. */
const SPECIAL: ReadonlySet<number> = new Set([0xe0, 0xed, 0xf0, 0xf4]);

/** Without a slice for each sequence, of which a large file in another encoding has millions. */
function continues(chunk: Buffer, at: number, length: number): boolean {
  const first = chunk[at] ?? 0;
  if (first > 0xf4 || SPECIAL.has(first)) return isUtf8(chunk.subarray(at, at + length));
  for (let i = at + 1; i < at + length; i++) if (((chunk[i] ?? 0) & 0xc0) !== 0x80) return false;
  return true;
}

/** The text of a file, piece by piece, without its byte order mark. */
export async function* decoded(octets: Octets, encoding: Encoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const part of octets()) yield decoder.decode(part, { stream: true });
  yield decoder.decode();
}
