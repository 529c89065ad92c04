import { readSync } from 'node:fs';

const CHUNK_BYTES = 64 * 1024;

/**
 * The octets of an open file from `start` up to `end`, a fresh buffer for each chunk. Blocks while it reads: for threads of
 * their own. A stream of Node would close the file at its end.
 */
export function* readOctets(fd: number, start: number, end: number): Generator<Buffer> {
  for (let at = start; at < end; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const length = readSync(fd, chunk, 0, chunk.length, at);
    if (length === 0) return;
    yield chunk.subarray(0, length);
    at += length;
  }
}
