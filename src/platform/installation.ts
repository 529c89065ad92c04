import { hkdfSync } from 'node:crypto';
import type { SecretKey } from './lib/secret-box.ts';

/** The response header with the id of the installation. */
export const INSTALLATION_HEADER = 'x-heliograph-installation';

/**
 * Returns the id of an installation: 32 hex digits that all its processes share, because they share SECRET_KEY. It is
 * public, and reveals nothing about the key; it cannot be forged for another installation without the key.
 */
export const installationOf = ({ bytes }: SecretKey): string =>
  Buffer.from(hkdfSync('sha256', bytes, '', 'heliograph installation v1', 16)).toString('hex');
