import { readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { badFile, LIMITS, tooLarge } from './import-check.ts';
import { readBytes } from './import-encoding.ts';

/** A file in an archive, as the directory at the end of the archive lists it. */
type Entry = {
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

const damagedZip = () => badFile('is damaged: it is not a complete ZIP archive');

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
  if (bytes > MAX_DIRECTORY_BYTES || offset + bytes > size) throw damagedZip();
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
  throw damagedZip();
}

function readEntry(directory: Buffer, at: number): { found: Entry; end: number } {
  if (at + HEADER_BYTES > directory.length || directory.readUInt32LE(at) !== SIGNATURES.entry) throw damagedZip();
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
      if (bytes > entry.bytes) throw damagedZip();
      crc = crc32(chunk, crc);
      yield chunk;
    }
  } catch (error) {
    throw isZlibError(error) ? damagedZip() : error;
  }
  if (bytes !== entry.bytes || crc !== entry.crc) throw damagedZip();
}

function dataOf(fd: number, { offset }: Entry): number {
  const header = readAt(fd, offset, LOCAL_HEADER_BYTES);
  if (header.readUInt32LE(0) !== SIGNATURES.local) throw damagedZip();
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

function inflated(fd: number, start: number, { method, packedBytes }: Entry): AsyncIterable<Buffer> {
  if (method !== STORED && method !== DEFLATED) throw badFile('is compressed in a way that Excel does not use');
  if (packedBytes === 0) return Readable.from([]);
  const packed = Readable.from(readBytes(fd, start, start + packedBytes));
  if (method === STORED) return packed;
  const inflate = createInflateRaw();
  packed.on('error', (error) => inflate.destroy(error));
  return packed.pipe(inflate);
}

const isZlibError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (readSync(fd, bytes, 0, length, position) < length) throw damagedZip();
  return bytes;
}

/** Receives the elements and texts of a document, in their order. Names come without their prefix. */
export type Listener = {
  open(name: string, attributes: string): void;
  text(text: string): void;
  close(name: string): void;
};

type XmlReader = {
  /** Adds a piece of the document, and calls the listener for everything that is complete. */
  write(text: string): void;
  /** Ends the document. Errors: 400 when it is not complete. */
  end(): void;
};

/** The maximum length of one tag or text: the largest cell of Excel, with an entity for each character. */
const MAX_PIECE_LENGTH = 4 * LIMITS.rowLength;

const damaged = () => badFile('is damaged: its XML cannot be read');
const COMMENT = ['<!--', '-->'] as const;
const CDATA = ['<![CDATA[', ']]>'] as const;

/**
 * Creates a reader for the XML of spreadsheets: elements, attributes, text, CDATA. Declarations, comments and entities
 * other than the five of XML are ignored, so a document can neither expand nor refer to anything outside.
 * Errors: 400 for a tag or a text that is longer than spreadsheets have.
 */
export function createXmlReader({ open, text, close }: Listener): XmlReader {
  let rest = '';
  /** Number of open elements. */
  let depth = 0;

  /** Returns the end of the tag or text that begins at `at`; -1 when it is not complete yet. */
  function endOfPiece(all: string, at: number): number {
    if (all[at] !== '<') return all.indexOf('<', at);
    if (all.startsWith(COMMENT[0], at)) return after(all, COMMENT[1], at + 4);
    if (all.startsWith(CDATA[0], at)) return after(all, CDATA[1], at);
    return endOfTag(all, at);
  }

  function emit(part: string): void {
    if (part[0] !== '<') return text(decodeEntities(part));
    if (part.startsWith(CDATA[0])) return text(part.slice(CDATA[0].length, -CDATA[1].length));
    if (part[1] === '!' || part[1] === '?') return;
    if (part[1] === '/') {
      depth--;
      return close(localName(part.slice(2, -1).trim()));
    }
    const empty = part.at(-2) === '/';
    const [, name = '', attributes = ''] = TAG.exec(part.slice(1, empty ? -2 : -1)) ?? [];
    open(localName(name), attributes);
    if (empty) close(localName(name));
    else depth++;
  }

  return {
    write(more) {
      const all = rest + more;
      let at = 0;
      // The beginning of a comment or CDATA may be incomplete itself.
      while (at < all.length && !(all[at] === '<' && all.length - at < CDATA[0].length && !all.includes('>', at))) {
        const end = endOfPiece(all, at);
        if (end < 0) break;
        emit(all.slice(at, end));
        at = end;
      }
      rest = all.slice(at);
      if (rest.length > MAX_PIECE_LENGTH) throw damaged();
    },
    end() {
      if (rest.trim() !== '' || depth !== 0) throw damaged();
    },
  };
}

const TAG = /^(\S*)\s*([^]*)$/;
const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function after(all: string, mark: string, from: number): number {
  const at = all.indexOf(mark, from);
  return at < 0 ? -1 : at + mark.length;
}

const GREATER = 62;
const isQuote = (code: number): boolean => code === 34 || code === 39;

/** Returns the end of a tag. A value in quotes may contain a `>`. */
function endOfTag(all: string, at: number): number {
  let quote = 0;
  for (let i = at; i < all.length; i++) {
    const code = all.charCodeAt(i);
    if (quote !== 0) quote = code === quote ? 0 : quote;
    else if (code === GREATER) return i + 1;
    else if (isQuote(code)) quote = code;
  }
  return -1;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|\w+);/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/**
 * Creates a function that reads one attribute of an element, by its name without prefix; undefined if there is none.
 */
export function attributeReader(name: string): (attributes: string) => string | undefined {
  const form = new RegExp(`(?:^|[\\s:])${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`);
  return (attributes) => {
    const [, double, single] = form.exec(attributes) ?? [];
    const value = double ?? single;
    return value === undefined ? undefined : decodeEntities(value);
  };
}
