import { hkdfSync } from 'node:crypto';
import type { SecretKey } from './lib/secret-box.ts';

/** The header with the id of the installation that answers. */
export const INSTALLATION_HEADER = 'x-heliograph-installation';

/**
 * Returns the id of an installation: 32 hex digits that all its processes share, because they share SECRET_KEY. It is
 * public, and says nothing about the key; nobody without the key can make it up for another installation.
 */
export const installationOf = ({ bytes }: SecretKey): string =>
  Buffer.from(hkdfSync('sha256', bytes, '', 'heliograph installation v1', 16)).toString('hex');
