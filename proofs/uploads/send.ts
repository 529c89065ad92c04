import http from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

/** A server's answer to an upload; null if it closed the connection without one, or did not answer in time. */
export type UploadAnswer = { readonly status: number; readonly body: string } | null;

export type Target = { readonly origin: string; readonly apiKey: string; readonly path: string };
export type Body = Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>;

const DEADLINE_MS = 300_000;
const BOUNDARY = 'heliograph-proof';

/** The parts of a form before and after a file. */
export const formAround = (
  fileName: string,
): { readonly type: string; readonly begin: string; readonly end: string } => ({
  type: `multipart/form-data; boundary=${BOUNDARY}`,
  begin: `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n`,
  end: `\r\n--${BOUNDARY}--\r\n`,
});

/** Sends a body as it is generated, until there is an answer. */
export function sendUpload({ origin, apiKey, path }: Target, type: string, body: Body): Promise<UploadAnswer> {
  return new Promise((resolve) => {
    const headers = { 'x-api-key': apiKey, 'content-type': type };
    const request = http.request(`${origin}${path}`, { method: 'POST', headers, agent: false });
    const end = (answer: UploadAnswer): void => {
      clearTimeout(deadline);
      resolve(answer);
      request.destroy();
    };
    const deadline = setTimeout(() => end(null), DEADLINE_MS);
    request.on('error', () => end(null));
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => end({ status: response.statusCode ?? 0, body: text }));
      response.on('error', () => end(null));
    });
    void writeBody(request, body, new Promise((closed) => request.on('close', closed)));
  });
}

async function writeBody(request: http.ClientRequest, body: Body, closed: Promise<unknown>): Promise<void> {
  for await (const piece of body) {
    // Without this pause the answer would not be read while pieces are written.
    await turn();
    if (request.destroyed) return;
    if (!request.write(piece)) await Promise.race([new Promise((drained) => request.once('drain', drained)), closed]);
  }
  request.end();
}
