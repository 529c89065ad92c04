import type { SocialApp } from '../../../platform/config.ts';
import type { Platform } from '../../../platform/lib/social-platform.ts';
import type { Web } from './web.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';

/** What a network issues for a code, or for a refresh token. */
export type Grant = {
  /** The access token. */
  readonly access: string;
  /** The refresh token; null if the network issues none. */
  readonly refresh: string | null;
  /** Null: the token does not expire. */
  readonly expiresAt: Date | null;
  /** The granted scopes; empty if the response does not have them. */
  readonly scopes: readonly string[];
};

/** A page, an organisation or a location that belongs to a profile. */
export type Linked = { readonly id: string; readonly name: string; readonly type: string };

export type Profile = {
  readonly externalId: string;
  readonly username: string | null;
  readonly name: string;
  readonly pictureUrl: string | null;
  /** The scopes that the person granted, if the network is asked for them; null: those of the grant count. */
  readonly scopes: readonly string[] | null;
  readonly linked: readonly Linked[];
  /** Why the network did not list what belongs to the profile, in its own words; null if it did. */
  readonly linkedFault: string | null;
  /** The separate tokens of linked pages, by the ids of the pages. */
  readonly linkedTokens: Readonly<Record<string, string>>;
};

/** Our app as the network knows it, and how the network is reached. */
export type Caller = SocialApp & { readonly web: Web; now(): Date };

/** One network: its addresses and its peculiarities. */
export type Network = {
  readonly platform: Platform;
  /** The name for people. */
  readonly label: string;
  /** The required value of `iss` in its responses, if there is one. */
  readonly issuer: string;
  authorizeUrl(app: SocialApp): string;
  tokenUrl(app: SocialApp): string;
  readonly clientIdName: 'client_id' | 'client_key';
  readonly scopeSeparator: ',' | ' ';
  readonly pkce: boolean;
  /** Parameters of the authorize URL in addition to those of OAuth; a null one is left out. */
  extraParameters(app: SocialApp): Readonly<Record<string, string | null>>;
  /** A profile without pages is of no use. */
  readonly needsPages: boolean;
  /**
   * Exchanges the first token, which lives for an hour, for a long-lived one. Undefined: the network has no such
   * tokens.
   */
  exchangeForLongLived?(caller: Caller, grant: Grant): Promise<Grant>;
  /** Requests the profile of a grant, and what belongs to it, as far as its scopes allow that. */
  fetchProfile(caller: Caller, grant: Pick<Grant, 'access' | 'scopes'>): Promise<Profile>;
  /** Renews the access token itself. Undefined: the network has refresh tokens, or no renewal. */
  renew?(caller: Caller, access: string): Promise<Grant>;
  /** How long before its expiry a token is renewed. */
  readonly leadMs: number;
  /**
   * Revokes the grant. Undefined: the network has no way to do this; the person can, in the settings of the network.
   */
  revoke?(caller: Caller, grant: Pick<Grant, 'access' | 'refresh'> & { readonly externalId: string }): Promise<void>;
};

/** Returns when a token expires that lives for `seconds` from now; null if that is not a positive number. */
export function expiryFrom({ now }: Pick<Caller, 'now'>, seconds: unknown): Date | null {
  return typeof seconds === 'number' && seconds > 0 ? new Date(now().getTime() + seconds * SECOND_MS) : null;
}

/** Reads scopes: a list, or a text with commas or spaces between them. */
export const scopesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/[\s,]+/) : []).filter(
    (scope) => scope !== '',
  );
