/** The three channels, named as in the specification. */
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export type Channel = (typeof CHANNELS)[number];

/** Returns the number of charges for a message: one for each of its parts on SMS, one elsewhere. */
export const chargedUnits = (channel: Channel, parts: number): number => (channel === 'SMS' ? parts : 1);

/** Columns store a set of channels with one bit for each. */
const BITS: Readonly<Record<Channel, number>> = { SMS: 1, RCS: 2, WHATSAPP: 4 };

export const bitOf = (channel: Channel): number => BITS[channel];

export const toBits = (channels: Iterable<Channel>): number =>
  [...channels].reduce((bits, channel) => bits | bitOf(channel), 0);

export const toChannels = (bits: number): Channel[] => CHANNELS.filter((channel) => bits & BITS[channel]);

/** The eight possible sets by their bits, since they are read with each request. */
const SETS: readonly ReadonlySet<Channel>[] = Array.from({ length: 8 }, (_, bits) => new Set(toChannels(bits)));
const NONE: ReadonlySet<Channel> = new Set();

export const channelSet = (bits: number): ReadonlySet<Channel> => SETS[bits] ?? NONE;

/** Returns the error message if a plan lacks some of the wanted channels; undefined if it includes all of them. */
export function outsidePlanMessage(plan: ReadonlySet<Channel>, wanted: readonly Channel[]): string | undefined {
  const missing = wanted.filter((channel) => !plan.has(channel));
  return missing.length > 0 ? `The plan of the account does not include ${missing.join(' and ')}` : undefined;
}

const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9 !"#$%&'()*+,\-./:;<=>?_]{1,11}$/;
const NUMERIC = /^\+?[0-9]{1,16}$/;

/**
 * Returns true if a sender is valid on SMS: 1..11 alphanumeric characters, or up to 16 digits (number or short code).
 */
export const isSmsSender = (sender: string): boolean => NUMERIC.test(sender) || ALPHANUMERIC.test(sender);

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
