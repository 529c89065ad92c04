import { type ChildProcess, fork } from 'node:child_process';
import type { FileHandle } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '../core/errors.ts';
import { createFairQueue } from '../core/fair-queue.ts';
import { isRecord } from '../core/schema.ts';
import { badFile, type Claim, type Inspection, LIMITS, tooLarge } from './inspect.ts';

const FILE = fileURLToPath(new URL('./decoder-process.ts', import.meta.url));
/** Maximum files inspected at the same time; the callers must not exceed it. */
const MAX_PROCESSES = 2;
/** A process is replaced after this many files, to free the memory that decoders leave behind. */
const FILES_PER_PROCESS = 20;
const IDLE_MS = 5000;
const TIMEOUT_MS = 30_000;

type Decoder = { readonly child: ChildProcess; files: number; idle?: NodeJS.Timeout };

const waiting: Decoder[] = [];

/**
 * Inspects an untrusted file (`inspect`) in a separate process, which also decodes and re-encodes pictures. If that
 * crashes, hangs or uses too much memory, it is ended and the sender gets 400. The process has no settings and no
 * secrets of this one. It takes 0.3 s to start, is reused, and ends after five idle seconds.
 */
export async function inspectInProcess(bytes: Buffer, claim: Claim): Promise<Inspection> {
  const decoder = waiting.pop() ?? startDecoder();
  clearTimeout(decoder.idle);
  const reply = await ask(decoder.child, { bytes, claim });
  putBack(decoder);
  if ('inspection' in reply) return withBuffers(reply.inspection);
  if ('failure' in reply) throw new Error(`the decoder failed: ${reply.failure}`);
  const { code, message } = reply.refusal;
  throw new AppError(code, { message: `file: ${message}`, details: [{ field: 'file', message }] });
}

function startDecoder(): Decoder {
  const child = fork(FILE, {
    env: {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // An idle decoder must not keep this process alive.
  child.unref();
  child.channel?.unref();
  const decoder: Decoder = { child, files: 0 };
  // `ask` listens as well while it waits for a reply; an 'error' event without a listener would end this process.
  child.on('error', () => leave(decoder)).once('exit', () => leave(decoder));
  return decoder;
}

function ask(child: ChildProcess, request: Request): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const onExit = (): void => reject(badFile('cannot be read: decoding it crashes'));
  const onMessage = (message: unknown): void =>
    isReply(message) ? resolve(message) : reject(new Error('the decoder sent something else'));
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  child.on('exit', onExit).on('error', reject).on('message', onMessage);
  // Sending to a process that is ending fails; then `exit` follows.
  child.send(request, () => undefined);
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('exit', onExit).off('error', reject).off('message', onMessage);
  });
}

function putBack(decoder: Decoder): void {
  decoder.files++;
  if (decoder.files >= FILES_PER_PROCESS) return void decoder.child.kill();
  decoder.idle = setTimeout(() => end(decoder), IDLE_MS).unref();
  waiting.push(decoder);
}

function leave(decoder: Decoder): void {
  const at = waiting.indexOf(decoder);
  if (at >= 0) waiting.splice(at, 1);
}

function end(decoder: Decoder): void {
  leave(decoder);
  decoder.child.kill();
}

/** Turns plain byte arrays, which the IPC channel delivers, into Buffers. */
const withBuffers = (inspection: Inspection): Inspection => ({
  ...inspection,
  reencoded: asBuffer(inspection.reencoded),
  thumbnail: asBuffer(inspection.thumbnail),
});
const asBuffer = (bytes: Uint8Array | null): Buffer | null =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

export type Request = { readonly bytes: Uint8Array; readonly claim: Claim };
/**
 * The decoder's reply: the inspection, a rejection with a message for the sender, or a failure of the decoder itself.
 */
export type Reply =
  | { readonly inspection: Inspection }
  | { readonly refusal: { readonly code: 'invalid' | 'too_large'; readonly message: string } }
  | { readonly failure: string };

export const isRequest = (message: unknown): message is Request =>
  isRecord(message) && 'bytes' in message && message.bytes instanceof Uint8Array && 'claim' in message;

const isReply = (message: unknown): message is Reply =>
  isRecord(message) && ('inspection' in message || 'refusal' in message || 'failure' in message);

/** A checked file, safe to store and send. */
export type Inspected = Omit<Inspection, 'reencoded'> & {
  /** The content; pictures are re-encoded, so it differs from the upload. */
  readonly bytes: Buffer;
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
export async function makeThumbnail(bytes: Buffer, accountId: number): Promise<Buffer | null> {
  const claim: Claim = { fileName: '', contentType: '' };
  const { thumbnail } = await decoders.run(accountId, () => inspectInProcess(bytes, claim), { cost: bytes.length });
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
    const bytes = buffer.subarray(0, bytesRead);
    const { reencoded, ...facts } = await inspectInProcess(bytes, claim);
    return { ...facts, bytes: reencoded ?? bytes };
  };
  return decoders.run(accountId, work, { cost: size });
}
