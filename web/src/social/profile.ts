import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

const SOCIALS = '/api/partner-gateway/v1/socials';

/** The permission that connecting profiles requires. */
export const NEED: Need = { scope: 'social', write: true };

/** The networks in display order; their names are the same in every language. */
export const PLATFORMS = [
  { platform: 'facebook', label: 'Facebook', signs: 'f' },
  { platform: 'instagram', label: 'Instagram', signs: 'Ig' },
  { platform: 'linkedin', label: 'LinkedIn', signs: 'in' },
  { platform: 'google', label: 'Google', signs: 'G' },
  { platform: 'tiktok', label: 'TikTok', signs: 'T' },
] as const;
export type Platform = (typeof PLATFORMS)[number]['platform'];
export type Network = (typeof PLATFORMS)[number];

export const listProfiles = (signal: AbortSignal) => ok(api.GET(SOCIALS, { signal }));
export type Profile = Awaited<ReturnType<typeof listProfiles>>[number];

/** The path of one of our URLs: the console may be open under another address than the one that URLs have. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url, window.location.href);
  return `${pathname}${search}`;
}

export const findProfile = (platform: Platform, signal: AbortSignal) =>
  ok(api.GET(`${SOCIALS}/{platform}`, { params: { path: { platform } }, signal }));

export const connectProfile = (platform: Platform) =>
  ok(api.POST(`${SOCIALS}/{platform}/connect`, { params: { path: { platform } } }));

export const disconnectProfile = (platform: Platform) =>
  ok(api.DELETE(`${SOCIALS}/{platform}`, { params: { path: { platform } } }));
