import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';

/** The tokens of a profile. They are sent to its network only. */
export type Tokens = {
  readonly access: string;
  readonly refresh: string | null;
  /** The tokens of linked pages, by their ids. */
  readonly linked: Readonly<Record<string, string>>;
};

type Place = { readonly accountId: number; readonly platform: Platform };
const tokensContext = ({ accountId, platform }: Place): string => `social_profile.tokens ${accountId} ${platform}`;

/**
 * Encrypts tokens (AES-256-GCM, with the id of the key). They can only be decrypted for the same account and network.
 */
export const sealTokens = (key: SecretKey, place: Place, tokens: Tokens): Buffer =>
  seal(key, JSON.stringify(tokens), tokensContext(place));

/** Decrypts tokens. Throws when they were encrypted with another SECRET_KEY, or for another account or network. */
export function openTokens(key: SecretKey, place: Place, sealed: Uint8Array): Tokens {
  const tokens: Tokens = JSON.parse(open(key, sealed, tokensContext(place)).toString());
  return tokens;
}
