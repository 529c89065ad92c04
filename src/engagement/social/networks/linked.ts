import type { Linked, Profile } from './network.ts';
import { NetworkFailure } from './web.ts';

/**
 * Lists what belongs to a profile. A network that refuses to list it does not keep the profile from being connected, but
 * what it says is kept. Rejects with a NetworkFailure if the grant has ended.
 */
export async function listOrFault(
  list: () => Promise<readonly Linked[]>,
): Promise<Pick<Profile, 'linked' | 'linkedFault'>> {
  try {
    return { linked: await list(), linkedFault: null };
  } catch (error) {
    if (!(error instanceof NetworkFailure) || error.grantEnded) throw error;
    return { linked: [], linkedFault: error.message };
  }
}
