import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import type { App } from './app.ts';
import { originOf } from './server.ts';

/** A port, and the setting that says so. */
type At = { readonly port: number; readonly setting: 'PORT' | 'WORKER_PORT' };

/** Why a server cannot listen, and what to do. */
const SENTENCES: Readonly<Record<string, (at: At & Pick<Config, 'host'>) => string>> = {
  EADDRINUSE: ({ port, setting }) =>
    `Port ${port} is in use: stop the program that has it, or set ${setting} to another.`,
  EACCES: ({ port, setting }) => `Port ${port} is not for this user: set ${setting} to one above 1023.`,
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine: correct HOST.`,
  ENOTFOUND: ({ host }) => `The host name ${host} is not known: correct HOST.`,
};

/** Listens on HOST and a port (PORT) and answers the origin. Throws a StartupError when they cannot be had. */
export async function listen(
  app: App,
  config: Config,
  at: At = { port: config.port, setting: 'PORT' },
): Promise<string> {
  const { host } = config;
  try {
    await app.listen({ host, port: at.port });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = SENTENCES[code]?.({ ...at, host });
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
  return originOf(app, config);
}
