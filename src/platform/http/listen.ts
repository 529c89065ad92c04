import { once } from 'node:events';
import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import type { App } from './app.ts';
import { originOf, withScheme } from './server.ts';

/** A port, and the setting that it comes from. */
type At = { readonly port: number; readonly setting: 'PORT' | 'WORKER_PORT' };

/** Explanations and corrections of listen errors, by error code. */
const SENTENCES: Readonly<Record<string, (at: At & Pick<Config, 'host'>) => string>> = {
  EADDRINUSE: ({ port, setting }) =>
    `Port ${port} is in use: stop the program that uses it, or set ${setting} to another port.`,
  EACCES: ({ port, setting }) => `Port ${port} needs root privileges: set ${setting} to a port above 1023.`,
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine: correct HOST.`,
  ENOTFOUND: ({ host }) => `The host name ${host} cannot be resolved: correct HOST.`,
};

/**
 * Listens on HOST and a port (by default PORT) and returns the origin. Throws a StartupError if that is not possible.
 */
export async function listen(
  app: App,
  config: Config,
  at: At = { port: config.port, setting: 'PORT' },
): Promise<string> {
  const { host } = config;
  // Fastify assumes plain HTTP for every server that it did not create.
  const listenTextResolver = (address: string): string => `listening on ${withScheme(address, config)}`;
  await explained(app.listen({ host, port: at.port, listenTextResolver }), { ...at, host });
  return originOf(app, config);
}

/** Listens with a plain server of Node on HOST and PORT, as `listen` does. */
export async function listenPlainly(server: Server, config: Config): Promise<string> {
  const { host, port, tls } = config;
  server.listen(port, host);
  await explained(once(server, 'listening'), { host, port, setting: 'PORT' });
  const address = server.address();
  const at = typeof address === 'object' && address !== null ? address : { address: host, port };
  return `${tls ? 'https' : 'http'}://${isIPv6(at.address) ? `[${at.address}]` : at.address}:${at.port}`;
}

async function explained<T>(listening: Promise<T>, at: At & Pick<Config, 'host'>): Promise<T> {
  try {
    return await listening;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = SENTENCES[code]?.(at);
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
}
