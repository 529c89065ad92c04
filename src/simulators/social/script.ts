import type { Platform } from '../../platform/lib/social-platform.ts';

/** Behaviour of the networks; may be changed at any time. */
export type SocialScript = {
  /** The scopes that our app may not ask for. */
  unapproved: readonly string[];
  /** The Facebook app has Facebook Login for Business: its dialog takes a `config_id`, and no scopes. */
  businessLogin: boolean;
  /** The Facebook pages belong to a business portfolio. */
  portfolio: boolean;
  /** The oldest version of the LinkedIn API that is active. */
  oldestVersion: string;
  /** Google has not approved the project. */
  noQuota: boolean;
  /** Every response is a 503. */
  unavailable: boolean;
  /** The issuer in the authorization response, in addition to code and state. */
  iss: string | null;
};

export const DEFAULT_SCRIPT: SocialScript = {
  unapproved: [],
  businessLogin: false,
  portfolio: false,
  oldestVersion: '202511',
  noQuota: false,
  unavailable: false,
  iss: null,
};

/** Choice of a person on the consent page, which a browser sends as parameters of the same URL. */
export type Choice = {
  readonly decision: 'grant' | 'refuse' | 'unapproved';
  /** The scopes that were left selected. */
  readonly scopes: readonly string[];
  /** The number of pages, organisations or locations. */
  readonly linked: number;
  /** The lifetime of tokens that are not short-lived. */
  readonly lifetimeSeconds: number;
  /** True if the tokens can be renewed: LinkedIn allows that only to some apps. */
  readonly renewable: boolean;
};

/** The name of the credentials of our app at each network. */
export const idNameOf = (platform: Platform): string => (platform === 'tiktok' ? 'client_key' : 'client_id');
