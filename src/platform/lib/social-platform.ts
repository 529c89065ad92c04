/** The social networks, as written in paths. */
export const PLATFORMS = ['facebook', 'instagram', 'linkedin', 'google', 'tiktok'] as const;
export type Platform = (typeof PLATFORMS)[number];

export const isPlatform = (name: string): name is Platform => PLATFORMS.some((platform) => platform === name);

/**
 * The scopes without which a profile cannot be connected, by network: all scopes of one of the sets. LinkedIn has two
 * mutually exclusive kinds of apps: one with "Sign In with LinkedIn using OpenID Connect", one with the Community
 * Management API, which has no `openid` (gitroomhq/postiz-app#1658).
 */
const REQUIRED_SCOPES: Readonly<Record<Platform, readonly (readonly string[])[]>> = {
  facebook: [['pages_show_list']],
  instagram: [['instagram_business_basic']],
  linkedin: [['openid', 'profile'], ['r_basicprofile']],
  google: [['https://www.googleapis.com/auth/business.manage']],
  tiktok: [['user.info.basic']],
};

/**
 * Returns the required scopes of a network that are missing in `scopes`; empty if none is. If there are several sets of
 * required scopes and none is complete, the missing ones of the first set are returned.
 */
export function missingScopes(platform: Platform, scopes: readonly string[]): readonly string[] {
  const missing = REQUIRED_SCOPES[platform].map((set) => set.filter((scope) => !scopes.includes(scope)));
  return missing.find((set) => set.length === 0) ?? missing[0] ?? [];
}
