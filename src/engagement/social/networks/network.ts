import type { Platform } from '../../../platform/lib/social-platform.ts';
import type { Web } from './web.ts';

/** What a network gives for a code, or for a refresh. */
export type Grant = {
  readonly access: string;
  /** Null where the network gives none. */
  readonly refresh: string | null;
  /** Null: the token does not end by time. */
  readonly expiresAt: Date | null;
  /** As its answer tells them; empty when it does not. */
  readonly scopes: readonly string[];
};

/** A page, an organisation or a location that comes with a profile. */
export type Linked = { readonly id: string; readonly name: string; readonly type: string };

export type Profile = {
  readonly externalId: string;
  readonly username: string | null;
  readonly name: string;
  readonly pictureUrl: string | null;
  /** What the person granted, where the network is asked for that; null: as the grant says. */
  readonly scopes: readonly string[] | null;
  readonly linked: readonly Linked[];
  /** Tokens of their own that linked pages have, by id. */
  readonly linkedTokens: Readonly<Record<string, string>>;
};

/** The application as the network knows it, and the way to the network. */
export type Caller = { readonly clientId: string; readonly clientSecret: string; readonly web: Web; now(): Date };

/** One network: where it is asked for what, and its peculiarities (protocol sheet "social"). */
export type Network = {
  readonly platform: Platform;
  /** For people. */
  readonly label: string;
  /** What `iss` of its answers must be, when there is one. */
  readonly issuer: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientIdName: 'client_id' | 'client_key';
  readonly scopes: readonly string[];
  readonly scopeSeparator: ',' | ' ';
  /** Without these there is nothing to connect: people may untick scopes. */
  readonly requiredScopes: readonly string[];
  readonly pkce: boolean;
  /** Of the authorize URL, besides those of OAuth. */
  readonly extraParameters: Readonly<Record<string, string>>;
  /** A network whose first token lives for an hour gives another for it. */
  exchangeForLongLived?(caller: Caller, grant: Grant): Promise<Grant>;
  fetchProfile(caller: Caller, access: string): Promise<Profile>;
  /** Where there is no refresh token but the token itself can be renewed. */
  renew?(caller: Caller, access: string): Promise<Grant>;
  /** How long before its end a token is renewed. */
  readonly leadMs: number;
  /** Ends the grant there. Undefined: the network has no way; the person can, in its settings. */
  revoke?(caller: Caller, grant: Pick<Grant, 'access' | 'refresh'> & { readonly externalId: string }): Promise<void>;
};

/** When a token ends that lives so many seconds from now; null for what is no number. */
export function expiryFrom({ now }: Pick<Caller, 'now'>, seconds: unknown): Date | null {
  return typeof seconds === 'number' && seconds > 0 ? new Date(now().getTime() + seconds * 1000) : null;
}

/** Words with commas or spaces between them, or a list of them. */
export const scopesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/[\s,]+/) : []).filter(
    (scope) => scope !== '',
  );
