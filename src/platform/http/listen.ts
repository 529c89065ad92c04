import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import type { App } from './app.ts';
import { originOf, withScheme } from './server.ts';

/** A port, and the setting that it comes from. */
type At = { readonly port: number; readonly setting: 'PORT' | 'WORKER_PORT' };

/** By error code: why a server cannot listen, and what to do. */
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
  try {
    // Fastify takes every server that it did not create for one that speaks plain HTTP.
    const listenTextResolver = (address: string): string => `listening on ${withScheme(address, config)}`;
    await app.listen({ host, port: at.port, listenTextResolver });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = SENTENCES[code]?.({ ...at, host });
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
  return originOf(app, config);
}
