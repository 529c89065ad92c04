import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';

/** What a profile is spoken for with. Never leaves the program but to its network. */
export type Tokens = {
  readonly access: string;
  readonly refresh: string | null;
  /** Of linked pages, by id. */
  readonly linked: Readonly<Record<string, string>>;
};

type Place = { readonly accountId: number; readonly platform: Platform };
const tokensContext = ({ accountId, platform }: Place): string => `social_profile.tokens ${accountId} ${platform}`;

/** AES-256-GCM with the id of the key: another account's, or another network's, do not open in this place. */
export const sealTokens = (key: SecretKey, place: Place, tokens: Tokens): Buffer =>
  seal(key, JSON.stringify(tokens), tokensContext(place));

/** Throws when they were sealed with another SECRET_KEY or for another place. */
export function openTokens(key: SecretKey, place: Place, sealed: Uint8Array): Tokens {
  const tokens: Tokens = JSON.parse(open(key, sealed, tokensContext(place)).toString());
  return tokens;
}
