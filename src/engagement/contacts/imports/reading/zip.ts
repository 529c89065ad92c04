import { readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { createInflateRaw, crc32 } from 'node:zlib';
import { badFile, LIMITS, tooLarge } from '../limits.ts';
import { readOctets } from './octets.ts';

/** A file in an archive, as the directory at the end of the archive lists it. */
export type Entry = {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly offset: number;
};

export type Zip = {
  has(name: string): boolean;
  /** Reads the bytes of a file. The total that is read from an archive is limited, whatever its directory states. */
  read(name: string): AsyncIterable<Buffer>;
};

const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const MAX_DIRECTORY_BYTES = 1024 * 1024;
const HEADER_BYTES = 46;
const LOCAL_HEADER_BYTES = 30;
const SIGNATURES = { end: 0x06054b50, entry: 0x02014b50, local: 0x04034b50 } as const;
const STORED = 0;
const DEFLATED = 8;

const damaged = () => badFile('is damaged: it is not a complete ZIP archive');

/**
 * Opens an archive by its directory. Archives with ZIP64, several disks or a password are not supported.
 * Errors: 400 for a damaged archive, 413 for one whose directory declares more than 64 MiB uncompressed.
 */
export function openZip(fd: number, size: number): Zip {
  const entries = new Map(readDirectory(fd, size).map((entry) => [entry.name, entry]));
  const declaredBytes = entries.values().reduce((sum, { bytes }) => sum + bytes, 0);
  if (declaredBytes > LIMITS.unpackedBytes) throw tooMuch();
  let left: number = LIMITS.unpackedBytes;
  const take = (bytes: number): void => {
    left -= bytes;
    if (left < 0) throw tooMuch();
  };
  return {
    has: (name) => entries.has(name),
    read(name) {
      const entry = entries.get(name);
      if (!entry) throw badFile(`is not an XLSX file: it has no ${name}`);
      return unpack(fd, entry, take);
    },
  };
}

const tooMuch = () => tooLarge(`is larger than ${LIMITS.unpackedBytes / 1024 / 1024} MiB uncompressed`);

function readDirectory(fd: number, size: number): Entry[] {
  const tail = readAt(
    fd,
    Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES),
    Math.min(size, END_BYTES + MAX_COMMENT_BYTES),
  );
  const at = findEnd(tail);
  const count = tail.readUInt16LE(at + 10);
  const bytes = tail.readUInt32LE(at + 12);
  const offset = tail.readUInt32LE(at + 16);
  if (bytes > MAX_DIRECTORY_BYTES || offset + bytes > size) throw damaged();
  const directory = readAt(fd, offset, bytes);
  const entries: Entry[] = [];
  for (let place = 0, i = 0; i < count; i++) {
    const entry = readEntry(directory, place);
    entries.push(entry.found);
    place = entry.end;
  }
  return entries;
}

/** Finds the end record: the last one whose comment reaches to the end of the archive. */
function findEnd(tail: Buffer): number {
  for (let at = tail.length - END_BYTES; at >= 0; at--)
    if (tail.readUInt32LE(at) === SIGNATURES.end && at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  throw damaged();
}

function readEntry(directory: Buffer, at: number): { found: Entry; end: number } {
  if (at + HEADER_BYTES > directory.length || directory.readUInt32LE(at) !== SIGNATURES.entry) throw damaged();
  const nameEnd = at + HEADER_BYTES + directory.readUInt16LE(at + 28);
  if ((directory.readUInt16LE(at + 8) & 1) === 1) throw badFile('is encrypted: save it without a password');
  const found = {
    name: directory.toString('utf8', at + HEADER_BYTES, nameEnd),
    method: directory.readUInt16LE(at + 10),
    crc: directory.readUInt32LE(at + 16),
    packedBytes: directory.readUInt32LE(at + 20),
    bytes: directory.readUInt32LE(at + 24),
    offset: directory.readUInt32LE(at + 42),
  };
  return { found, end: nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32) };
}

/**
 * Uncompresses a file, and counts the bytes: against the size in the directory, and against the limit of the archive.
 */
async function* unpack(fd: number, entry: Entry, take: (bytes: number) => void): AsyncGenerator<Buffer> {
  const start = dataOf(fd, entry);
  let bytes = 0;
  let crc = 0;
  try {
    for await (const chunk of inflated(fd, start, entry)) {
      take(chunk.length);
      bytes += chunk.length;
      if (bytes > entry.bytes) throw damaged();
      crc = crc32(chunk, crc);
      yield chunk;
    }
  } catch (error) {
    throw isZlibError(error) ? damaged() : error;
  }
  if (bytes !== entry.bytes || crc !== entry.crc) throw damaged();
}

function dataOf(fd: number, { offset }: Entry): number {
  const header = readAt(fd, offset, LOCAL_HEADER_BYTES);
  if (header.readUInt32LE(0) !== SIGNATURES.local) throw damaged();
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

function inflated(fd: number, start: number, { method, packedBytes }: Entry): AsyncIterable<Buffer> {
  if (method !== STORED && method !== DEFLATED) throw badFile('is compressed in a way that Excel does not use');
  if (packedBytes === 0) return Readable.from([]);
  const packed = Readable.from(readOctets(fd, start, start + packedBytes));
  if (method === STORED) return packed;
  const inflate = createInflateRaw();
  packed.on('error', (error) => inflate.destroy(error));
  return packed.pipe(inflate);
}

const isZlibError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

function readAt(fd: number, position: number, length: number): Buffer {
  const octets = Buffer.alloc(length);
  if (readSync(fd, octets, 0, length, position) < length) throw damaged();
  return octets;
}
