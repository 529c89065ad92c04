import { readSync } from 'node:fs';

const CHUNK_BYTES = 64 * 1024;

/**
 * Yields the bytes of an open file from `start` up to `end`, in chunks with a new buffer each. It blocks while it
 * reads, so it is for separate threads only. It is used because a stream of Node would close the file at the end.
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
