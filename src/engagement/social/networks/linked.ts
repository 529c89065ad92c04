import type { Linked, Profile } from './network.ts';
import { NetworkFailure } from './web.ts';

/**
 * Lists the pages, organisations or locations of a profile. If the network refuses to list them, the profile is still
 * connected and the network's message is kept. Rejects with a NetworkFailure if the grant has ended.
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
