import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../errors.ts';
import { createSlots } from '../../lib/slots.ts';
import { badFile } from '../limits.ts';
import type { Picture } from './picture.ts';
import { isReply, type Reply, type Request } from './protocol.ts';

const FILE = fileURLToPath(new URL('./process.ts', import.meta.url));
const PROCESSES = 2;
/** What decoders leave in the heap comes back with the end of a process. */
const PICTURES_A_PROCESS = 20;
const IDLE_MS = 5000;
const TIMEOUT_MS = 30_000;

type Decoder = { readonly child: ChildProcess; readonly pictures: number; readonly idle?: NodeJS.Timeout };

const slots = createSlots(PROCESSES);
const waiting: Decoder[] = [];

/**
 * Decodes a stranger's picture and writes it anew (`remakePicture`) in a process of its own: one that crashes, hangs or
 * swells is ended, and its sender gets 400. It knows no setting and no secret of this one. Two at a time; a process takes
 * 0.3 s to start, stays for the next picture, and ends after five idle seconds.
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
    ...{ env: {}, execArgv: [], serialization: 'advanced' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // An idle one does not keep this process alive.
  child.unref();
  child.channel?.unref();
  return { child, pictures: 0 };
}

function ask(child: ChildProcess, request: Request): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const onExit = (): void => reject(badFile('cannot be read: whatever reads it ends'));
  const onMessage = (message: unknown): void =>
    isReply(message) ? resolve(message) : reject(new Error('the decoder answered something else'));
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  child.once('exit', onExit).once('error', reject).once('message', onMessage);
  child.send(request, (error) => error && reject(error));
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('exit', onExit).off('message', onMessage);
  });
}

function putBack({ child, pictures }: Decoder): void {
  if (pictures + 1 >= PICTURES_A_PROCESS) return void child.kill();
  const decoder: Decoder = { child, pictures: pictures + 1, idle: setTimeout(() => end(decoder), IDLE_MS).unref() };
  child.once('exit', () => leave(decoder));
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

/** What came through the channel are octets without a Buffer's ways. */
const octetsOf = ({ octets, thumbnail }: Picture): Pick<Picture, 'octets' | 'thumbnail'> => ({
  octets: Buffer.from(octets.buffer, octets.byteOffset, octets.length),
  thumbnail: Buffer.from(thumbnail.buffer, thumbnail.byteOffset, thumbnail.length),
});
