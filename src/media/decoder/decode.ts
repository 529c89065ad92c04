import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../platform/errors.ts';
import { createSlots } from '../../platform/lib/limits/slots.ts';
import { badFile } from '../limits.ts';
import type { Picture } from './picture.ts';
import { isReply, type Reply, type Request } from './protocol.ts';

const FILE = fileURLToPath(new URL('./process.ts', import.meta.url));
const MAX_PROCESSES = 2;
/** A process is replaced after this many pictures, to free the memory that decoders leave behind. */
const PICTURES_PER_PROCESS = 20;
const IDLE_MS = 5000;
const TIMEOUT_MS = 30_000;

type Decoder = { readonly child: ChildProcess; pictures: number; idle?: NodeJS.Timeout };

const slots = createSlots(MAX_PROCESSES);
const waiting: Decoder[] = [];

/**
 * Decodes an untrusted picture and re-encodes it (`reencodePicture`) in a separate process. If that crashes, hangs or
 * uses too much memory, it is ended and the sender gets 400. The process has no settings and no secrets of this one. At
 * most two run at a time; a process takes 0.3 s to start, is reused, and ends after five idle seconds.
 */
export const decodePicture = (request: Request): Promise<Picture> =>
  slots.run(async () => {
    const decoder = waiting.pop() ?? startDecoder();
    clearTimeout(decoder.idle);
    const reply = await ask(decoder.child, request);
    putBack(decoder);
    if ('picture' in reply) return { ...reply.picture, ...octetsOf(reply.picture) };
    if ('failure' in reply) throw new Error(`the decoder failed: ${reply.failure}`);
    const { code, message } = reply.refusal;
    throw new AppError(code, { message: `file: ${message}`, details: [{ field: 'file', message }] });
  });

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
  const decoder: Decoder = { child, pictures: 0 };
  // `ask` listens as well while it waits for a reply; an 'error' event without a listener would end this process.
  child.on('error', () => leave(decoder)).once('exit', () => leave(decoder));
  return decoder;
}

function ask(child: ChildProcess, request: Request): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const onExit = (): void => reject(badFile('cannot be read: decoding it crashes'));
  const onMessage = (message: unknown): void =>
    isReply(message) ? resolve(message) : reject(new Error('the decoder answered something else'));
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
  decoder.pictures++;
  if (decoder.pictures >= PICTURES_PER_PROCESS) return void decoder.child.kill();
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

/** The IPC channel delivers plain byte arrays; this turns them into Buffers. */
const octetsOf = ({ octets, thumbnail }: Picture): Pick<Picture, 'octets' | 'thumbnail'> => ({
  octets: Buffer.from(octets.buffer, octets.byteOffset, octets.length),
  thumbnail: Buffer.from(thumbnail.buffer, thumbnail.byteOffset, thumbnail.length),
});
