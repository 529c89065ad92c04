import Fastify from 'fastify';
import { buildApi } from '../../src/api.ts';
import { newId } from '../../src/core/ids.ts';
import { actor } from '../../test/support/drafts.ts';
import { apiDeps } from '../../test/support/http/api.ts';
import { type Running, runScript } from './processes.ts';

/** A process with a route that takes the body of a single send. */
export type Route = Pick<Running, 'cpuSeconds' | 'stop'> & { readonly url: string };

/** Starts a process with an empty validated POST route: the limit of the framework on this machine. */
export const startEmptyRoute = (): Promise<Route> => start('empty');

/** Starts a process with the whole API, whose credentials and acceptance do nothing: the costs of HTTP alone. */
export const startSendRoute = (): Promise<Route> => start('send');

async function start(kind: 'empty' | 'send'): Promise<Route> {
  const running = await runScript([import.meta.filename, kind]);
  return { ...running, url: String(running.ready['url']) };
}

const text = { type: 'string' };
const EMPTY = {
  body: { type: 'object', required: ['phoneNumber', 'message'], properties: { phoneNumber: text, message: text } },
  response: { 200: { type: 'object', properties: { messageId: text } } },
};

async function listenEmpty(): Promise<string> {
  const app = Fastify();
  app.post('/', { schema: EMPTY }, async () => ({ messageId: newId() }));
  return app.listen({ port: 0, host: '127.0.0.1' });
}

async function listenSend(): Promise<string> {
  const limit = { 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '599', 'x-ratelimit-reset': '1' };
  const caller = actor();
  const app = buildApi(
    apiDeps({
      authenticate: () => Promise.resolve({ actor: caller, headers: limit }),
      accept: {
        one: () => Promise.resolve({ kind: 'accepted', messageId: newId(), parts: 1, unicode: false }),
        many: () => Promise.resolve([]),
        once: () => Promise.resolve(null),
      },
    }),
  );
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/api/message-server/sms/send`;
}

if (import.meta.main)
  process.stdout.write(
    `${JSON.stringify({ url: await (process.argv[2] === 'send' ? listenSend() : listenEmpty()) })}\n`,
  );
