import type { SocialApp } from '../../../platform/config.ts';
import type { Platform } from '../../../platform/lib/social-platform.ts';
import type { Web } from './web.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';

/** Tokens that a network issues for a code or for a refresh token. */
export type Grant = {
  readonly access: string;
  /** The refresh token; null if the network issues none. */
  readonly refresh: string | null;
  /** Expiry of the token; null: it does not expire. */
  readonly expiresAt: Date | null;
  /** The granted scopes; empty if the response does not contain them. */
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
  /** The network's message about why it did not list the linked pages, organisations or locations; null if it did. */
  readonly linkedFault: string | null;
  /** The separate tokens of linked pages, by the ids of the pages. */
  readonly linkedTokens: Readonly<Record<string, string>>;
};

/** Our app as the network knows it, and the web access to the network. */
export type Caller = SocialApp & { readonly web: Web; now(): Date };

/** A network: its addresses and its peculiarities. */
export type Network = {
  readonly platform: Platform;
  /** Name shown to people. */
  readonly label: string;
  /** The required value of `iss` in its responses, if there is one. */
  readonly issuer: string;
  authorizeUrl(app: SocialApp): string;
  tokenUrl(app: SocialApp): string;
  readonly clientIdName: 'client_id' | 'client_key';
  readonly scopeSeparator: ',' | ' ';
  readonly pkce: boolean;
  /** Parameters of the authorize URL in addition to those of OAuth; null values are omitted. */
  extraParameters(app: SocialApp): Readonly<Record<string, string | null>>;
  /** True if a profile without pages is useless. */
  readonly needsPages: boolean;
  /**
   * Exchanges the first token, which lives for an hour, for a long-lived one. Undefined: the network has no such
   * tokens.
   */
  exchangeForLongLived?(caller: Caller, grant: Grant): Promise<Grant>;
  /**
   * Requests the profile of a grant and its linked pages, organisations or locations, as far as its scopes allow that.
   */
  fetchProfile(caller: Caller, grant: Pick<Grant, 'access' | 'scopes'>): Promise<Profile>;
  /** Renews the access token itself. Undefined: the network has refresh tokens, or no renewal. */
  renew?(caller: Caller, access: string): Promise<Grant>;
  /** Time before its expiry at which a token is renewed. */
  readonly leadMs: number;
  /**
   * Revokes the grant. Undefined: the network does not support this; the person can do it in the settings of the
   * network.
   */
  revoke?(caller: Caller, grant: Pick<Grant, 'access' | 'refresh'> & { readonly externalId: string }): Promise<void>;
};

/** Returns the expiry of a token that lives for `seconds` from now; null if that is not a positive number. */
export function expiryFrom({ now }: Pick<Caller, 'now'>, seconds: unknown): Date | null {
  return typeof seconds === 'number' && seconds > 0 ? new Date(now().getTime() + seconds * SECOND_MS) : null;
}

/** Reads scopes: a list, or a text with commas or spaces between them. */
export const scopesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/[\s,]+/) : []).filter(
    (scope) => scope !== '',
  );
