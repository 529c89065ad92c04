import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import type { App } from './deps.ts';
import { originOf } from './server.ts';

/** Why a server cannot listen, and what to do. */
const SENTENCES: Readonly<Record<string, (config: Config) => string>> = {
  EADDRINUSE: ({ port }) => `Port ${port} is in use: stop the program that has it, or set PORT to another.`,
  EACCES: ({ port }) => `Port ${port} is not for this user: set PORT to one above 1023.`,
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine: correct HOST.`,
  ENOTFOUND: ({ host }) => `The host name ${host} is not known: correct HOST.`,
};

/** Listens on HOST and PORT and answers the origin. Throws a StartupError when they cannot be had. */
export async function listen(app: App, config: Config): Promise<string> {
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = SENTENCES[code]?.(config);
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
  return originOf(app, config);
}
