import { hkdfSync } from 'node:crypto';
import type { Pool } from 'pg';
import { deleteSandboxProfiles } from '../../engagement/social/sql.ts';
import type { Config, SocialApp } from '../../platform/config.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { PLATFORMS, type Platform } from '../../platform/lib/social-platform.ts';
import { type SandboxSocial, startSandboxSocial } from '../social/server.ts';

/** Below this path, the program itself serves the consent pages: browsers reach no other address of it. */
export const SOCIAL_PAGES_PATH = '/sandbox/social';

/** The sandbox's social networks. */
export type SandboxSocialNetworks = Pick<SandboxSocial, 'page' | 'url' | 'close'> & {
  /** Our apps at the networks: those of the settings and, for networks without one, those of the sandbox. */
  readonly apps: Config['social'];
};

type Deps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
};

/**
 * Starts the sandbox's social networks. They stand in for each network without an app in the settings. Profiles that were
 * connected to the sandbox are deleted where there is an app now: their tokens are worthless there.
 */
export async function startSocial({ pool, secretKey, config }: Deps): Promise<SandboxSocialNetworks> {
  const { publicUrl } = config;
  const key = Buffer.from(hkdfSync('sha256', secretKey.bytes, '', 'heliograph sandbox social networks v1', 32));
  const social = await startSandboxSocial({ publicUrl: () => publicUrl, key });
  const simulated = { apiUrl: social.url, pagesUrl: `${publicUrl}${SOCIAL_PAGES_PATH}` };
  const appOf = (platform: Platform): SocialApp =>
    isSetUp(config.social[platform])
      ? config.social[platform]
      : { ...config.social[platform], ...social.clients[platform], simulated };
  const apps: Config['social'] = {
    facebook: appOf('facebook'),
    instagram: appOf('instagram'),
    linkedin: appOf('linkedin'),
    google: appOf('google'),
    tiktok: appOf('tiktok'),
  };
  await deleteSandboxProfiles(pool, { platforms: PLATFORMS.filter((platform) => apps[platform].simulated === null) });
  return { apps, page: social.page, url: social.url, close: social.close };
}

/**
 * Returns true if the settings have an app, even if only a part of it: missing settings are named when a profile is
 * connected.
 */
const isSetUp = ({ clientId, clientSecret, simulated }: SocialApp): boolean =>
  clientId !== '' || clientSecret !== '' || simulated !== null;

/** Deletes the profiles that were connected to the sandbox: no network serves them any more. */
export const retireSocial = async (pool: Pool): Promise<void> =>
  void (await deleteSandboxProfiles(pool, { platforms: PLATFORMS }));
