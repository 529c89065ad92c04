import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { listening } from '../../../test/support/http/listen.ts';
import { loadConfig } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import { createServer, listen } from './server.ts';

const fresh = () => createServer(apiDeps());

test('returns the origin that it listens on', async () => {
  const app = fresh();
  expect(await listen(app, { ...loadConfig({}), port: 0 })).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await app.close();
});

test('a port in use and a foreign address are explained with what to do', async () => {
  await using other = await listening(fresh());
  const attempt = (changes: object) => listen(fresh(), { ...loadConfig({}), ...changes });
  const busy = new StartupError(
    `Port ${other.port} is in use: stop the program that uses it, or set PORT to another port.`,
  );
  await expect(attempt({ port: other.port })).rejects.toThrow(busy);
  const worker = new StartupError(
    `Port ${other.port} is in use: stop the program that uses it, or set WORKER_PORT to another port.`,
  );
  const at = { port: other.port, setting: 'WORKER_PORT' } as const;
  await expect(listen(fresh(), loadConfig({}), at)).rejects.toThrow(worker);
  const foreign = new StartupError('192.0.2.1 is not an address of this machine: correct HOST.');
  await expect(attempt({ host: '192.0.2.1', port: 0 })).rejects.toThrow(foreign);
});

test.each([
  [{}, 'timeout=72'],
  [{ TRUST_PROXY: '10.0.0.5' }, 'timeout=620'],
])('an idle connection is kept longer than the proxies of %j keep theirs', async (environment, kept) => {
  const app = createServer(apiDeps({ config: loadConfig(environment) }));
  app.get('/thing', async () => ({}));
  await using server = await listening(app);
  const { headers } = await fetch(`${server.url}/thing`);
  expect(headers.get('keep-alive')).toBe(kept);
});
