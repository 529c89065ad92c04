import type { FileHandle } from 'node:fs/promises';
import { createFairQueue } from '../platform/fair-queue.ts';
import { inspectInProcess, MAX_PROCESSES } from './decoder/inspect-in-process.ts';
import type { Inspection } from './inspect.ts';
import { LIMITS, tooLarge } from './limits.ts';
import type { Claim } from './type.ts';

/** A checked file, safe to store and send. */
export type Inspected = Omit<Inspection, 'reencoded'> & {
  /** The content; pictures are re-encoded, so it differs from the upload. */
  readonly octets: Buffer;
};

/**
 * The decoders, for the accounts in turn. A large picture takes seconds: an account that sends several of them has one
 * decoder at a time, so that another account finds one free.
 */
const decoders = createFairQueue({ size: MAX_PROCESSES, perAccount: 1 });

/**
 * Inspects a small file in memory, as `inspectFile` does with one on disk. Resolves with a JPEG of at most 320 by 320
 * of a picture. Errors: as of `inspect`.
 */
export async function makeThumbnail(octets: Buffer, accountId: number): Promise<Buffer | null> {
  const claim: Claim = { fileName: '', contentType: '' };
  const { thumbnail } = await decoders.run(accountId, () => inspectInProcess(octets, claim), { cost: octets.length });
  return thumbnail;
}

/**
 * Reads a file on disk and inspects it in a separate process, when it is the account's turn; of one account, the
 * smallest file first. A waiting file takes no memory. Errors: as of `inspect`.
 */
export async function inspectFile(
  file: Pick<FileHandle, 'stat' | 'read'>,
  claim: Claim,
  accountId: number,
): Promise<Inspected> {
  const { size } = await file.stat();
  if (size > LIMITS.videoBytes) throw tooLarge('A video', LIMITS.videoBytes);
  const work = async (): Promise<Inspected> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    const octets = buffer.subarray(0, bytesRead);
    const { reencoded, ...facts } = await inspectInProcess(octets, claim);
    return { ...facts, octets: reencoded ?? octets };
  };
  return decoders.run(accountId, work, { cost: size });
}
