import type { PhoneDetails } from './phone.ts';

/** Differences between channels for the program as a whole; those of their protocols are in src/channels. */
type Properties = {
  /** Columns store a set of channels with one bit for each. */
  readonly bit: number;
  /** Way to find the connection of a message: by the prefix of its destination (routes), or by its sender. */
  readonly routedBy: 'prefix' | 'sender';
  /** True: messages have templates, media and fallbacks. */
  readonly rich: boolean;
  /** True: a long text is sent in parts, and each is charged. */
  readonly parts: boolean;
  /** True: clients see a message without a final state as ACCEPTED; false: as UNKNOWN (specification). */
  readonly showsAccepted: boolean;
  /** True: a message that the network has can be revoked until it is delivered. */
  readonly revocable: boolean;
  /** True: people without a visible number have user ids. */
  readonly userIds: boolean;
  /** Hours after a message from a person in which other messages than templates can be sent; null: always. */
  readonly sessionHours: number | null;
  /** Types of numbers that can be reached, until carriers report otherwise. */
  readonly reaches: readonly PhoneDetails['type'][];
};

export const CHANNEL = {
  SMS: {
    bit: 1,
    routedBy: 'prefix',
    rich: false,
    parts: true,
    showsAccepted: true,
    revocable: false,
    userIds: false,
    sessionHours: null,
    reaches: ['MOBILE', 'FIXED_LINE_OR_MOBILE', 'VOIP', 'PERSONAL_NUMBER'],
  },
  RCS: {
    bit: 2,
    routedBy: 'sender',
    rich: true,
    parts: false,
    showsAccepted: false,
    revocable: true,
    userIds: false,
    sessionHours: null,
    reaches: ['MOBILE', 'FIXED_LINE_OR_MOBILE'],
  },
  WHATSAPP: {
    bit: 4,
    routedBy: 'sender',
    rich: true,
    parts: false,
    showsAccepted: false,
    revocable: false,
    userIds: true,
    sessionHours: 24,
    // WhatsApp Business can be registered with fixed lines too.
    reaches: ['MOBILE', 'FIXED_LINE_OR_MOBILE', 'FIXED_LINE', 'VOIP', 'PERSONAL_NUMBER'],
  },
} as const satisfies Record<string, Properties>;

export type Channel = keyof typeof CHANNEL;
export const CHANNELS = Object.keys(CHANNEL) as readonly Channel[];

type With<Property> = { [C in Channel]: (typeof CHANNEL)[C] extends Property ? C : never }[Channel];
/** A channel whose messages find their connection by their sender, which the network knows by an id. */
export type SenderChannel = With<{ routedBy: 'sender' }>;
export type RichChannel = With<{ rich: true }>;

export const isRoutedBySender = (channel: Channel): channel is SenderChannel => CHANNEL[channel].routedBy === 'sender';
export const isRich = (channel: Channel): channel is RichChannel => CHANNEL[channel].rich;

/**
 * Purposes of messages, which people, networks and laws treat differently: promotion, what belongs to a purchase, codes
 * that a person asked for, and answers to people.
 */
export const PURPOSES = ['marketing', 'transactional', 'otp', 'service'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Returns the number of charges for a message: one for each of its parts on SMS, one elsewhere. */
export const chargedUnits = (channel: Channel, parts: number): number => (CHANNEL[channel].parts ? parts : 1);

export const bitOf = (channel: Channel): number => CHANNEL[channel].bit;

export const toBits = (channels: Iterable<Channel>): number =>
  [...channels].reduce((bits, channel) => bits | bitOf(channel), 0);

export const toChannels = (bits: number): Channel[] => CHANNELS.filter((channel) => bits & bitOf(channel));

/** All possible sets by their bits, since they are read with each request. */
const SETS: readonly ReadonlySet<Channel>[] = Array.from(
  { length: 1 << CHANNELS.length },
  (_, bits) => new Set(toChannels(bits)),
);
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
