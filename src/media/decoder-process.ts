import { AppError } from '../core/errors.ts';
import { isRequest, type Reply, type Request } from './decoder.ts';
import { inspect } from './inspect.ts';

// The process that inspects files, started by src/media/decoder.ts. It ends when its parent ends.
process.on('message', (message) => {
  if (isRequest(message)) void answer(message).then((reply) => process.send?.(reply));
});

async function answer({ bytes, claim }: Request): Promise<Reply> {
  try {
    return { inspection: await inspect(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), claim) };
  } catch (error) {
    if (error instanceof AppError && (error.code === 'invalid' || error.code === 'too_large'))
      return { refusal: { code: error.code, message: error.details?.[0]?.message ?? error.message } };
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
