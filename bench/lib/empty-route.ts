import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * The source of a server with one validated POST route that does nothing: the limit of the framework on this machine.
 */
const SOURCE = `
  import Fastify from 'fastify';
  const text = { type: 'string' };
  const body = { type: 'object', required: ['phoneNumber', 'message'], properties: { phoneNumber: text, message: text } };
  const answer = { type: 'object', properties: { messageId: text } };
  const app = Fastify();
  app.post('/', { schema: { body, response: { 200: answer } } }, async () => ({ messageId: 'x' }));
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
`;

/** Starts a process with an empty validated POST route. */
export async function startEmptyRoute(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SOURCE], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return {
    url: String(line).trim(),
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}
