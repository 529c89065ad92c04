import { AppError } from '../../platform/errors.ts';
import { reencodePicture } from './picture.ts';
import { isRequest, type Reply, type Request } from './protocol.ts';

// The process that decodes pictures, started by src/media/decoder/decode.ts. It ends when its parent ends.
process.on('message', (message) => {
  if (isRequest(message)) void answer(message).then((reply) => process.send?.(reply));
});

async function answer({ octets, type }: Request): Promise<Reply> {
  try {
    return { picture: await reencodePicture(Buffer.from(octets), type) };
  } catch (error) {
    if (error instanceof AppError && (error.code === 'invalid' || error.code === 'too_large'))
      return { refusal: { code: error.code, message: error.details?.[0]?.message ?? error.message } };
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
