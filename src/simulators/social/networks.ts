import { createHmac } from 'node:crypto';
import type { Platform } from '../../platform/lib/social-platform.ts';
import { type Target, targetOf } from './addresses.ts';
import { createAuthorizing } from './authorizing.ts';
import { createGranting } from './granting.ts';
import { readListing } from './listings.ts';
import { type Reply, type SocialRequest, unauthorized } from './reply.ts';
import type { SocialScript } from './script.ts';
import { createTokens } from './tokens.ts';

export type NetworksOptions = {
  readonly script: SocialScript;
  /** Signs the tokens. */
  readonly key: Buffer;
  /** The PUBLIC_URL of the program, to which the networks send people back. */
  readonly publicUrl: () => string;
};

/** The credentials of our app at the simulated networks. */
export const clientIdOf = (platform: Platform): string => `sandbox-${platform}`;
export const secretOf = (platform: Platform): string => `sandbox-secret-of-${platform}`;

/** The address of a picture of a person. */
const PICTURE_PATH = 'cdn.sandbox.test/ada.png';
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgBAMAAAAQtmoLAAAAMFBMVEUxVX/o7vXCz93N2OTk6/JdepxBY4qBmLM4W4STp77b4+1Jao+nuMxwiqiz' +
    'wdOfscbYP1ebAAAACXBIWXMAAAsTAAALEwEAmpwYAAABm0lEQVRYw+2Wu0oDQRSGg7Jhg4rMZjWwxsUFEQstlqBguXamWrEQO28vYGFls2+gorbC' +
    'QrBOKmvFB1CfwJR2lpaCeNk5OzP/HBCEkK8+X3Jm51ymUhkyZMh/c3vfaS+d2Mc/i0+WbeO3xBcrdvGn4od3m/hq9Ct4uxbCgSiwiuPdqCh4GRQm' +
    'hcQbFDZlYQoKsSzUUfyEIDwCYYQKc0DoUWEGCEdUaADhjgpNIERU8ICQUyEAQkIF/68FdkrsQ7M/K/vi2KXBLj52ebMbiN+i7CHAHjPsQcYflexh' +
    'zB/3/IXCX1kDgLt93eq0W6/HmV38zvz3PaxfWYSPXRRraa2L4p0HubzDFPx+n7ZoaPwP91KU2Mhsyq6IoQRriUrwz7QJ9YWSUJfUvtCwoOnNWCfU' +
    'u7j7ZZSzwI31gnLajAsDLzabAWwJJzEJfooXg8wiLyNFTtXcLAR0aNYEgBbUIRJueEcoHyJGAll2joCkvDPTU49iQd7we1iYloQnLMxKwjkWGuZn' +
    'Upmm+SGm6DrevdGby7EQmF+fiqYbnI35AWrOk+JK7MgjAAAAAElFTkSuQmCC',
  'base64',
);

/**
 * Creates the five networks, each with its own names, errors and peculiarities: they reject what the real networks
 * reject. They were written from the documentation of the networks and from reports of integrations with them.
 */
export function createNetworks({ script, key, publicUrl }: NetworksOptions) {
  const tokens = createTokens(key);
  const redirectUriOf = (platform: Platform): string => `${publicUrl()}/oauth/${platform}/callback`;
  const { authorize, redeem } = createAuthorizing({ script, tokens, clientIdOf, redirectUriOf });
  const { grant, lengthen, revoke } = createGranting({ tokens, clientIdOf, secretOf, redeem });

  /** The endpoints that need a token. */
  function read({ platform, path }: Target, ask: SocialRequest): Reply {
    const { bearer, query, linkedinVersion } = ask;
    if (!tokens.isLive(bearer, platform, 'access', 'short') || !isProven(platform, ask)) return unauthorized(platform);
    if (path === 'access_token') return lengthen('instagram', bearer);
    if (path === 'refresh_access_token') return lengthen('instagram', bearer, 'access');
    if (ask.method === 'DELETE') {
      tokens.takeBack(platform);
      return { json: { success: true } };
    }
    if (path.startsWith('rest/') && (linkedinVersion === '' || linkedinVersion < script.oldestVersion))
      return { status: 426, json: inactive(linkedinVersion) };
    const granted = tokens.grantedOf(bearer);
    const issuePage = (): string => tokens.issue(platform, 'page', { ...granted, scopes: [] });
    return readListing(path, query, { script, granted, issuePage });
  }

  return {
    secrets: tokens.secrets,
    takeBack: tokens.takeBack,
    live: tokens.live,
    /** Handles a request for `https://<address>`. */
    answer(address: string, ask: SocialRequest): Reply {
      if (script.unavailable) return { status: 503 };
      if (address === PICTURE_PATH) return { png: PICTURE };
      const target = targetOf(address);
      if (!target) return { status: 404, json: { message: `nothing at ${address}` } };
      const { platform, purpose } = target;
      if (purpose === 'authorize') return authorize(platform, ask);
      if (purpose === 'token') return grant(platform, ask);
      return purpose === 'revoke' ? revoke(platform, ask) : read(target, ask);
    },
  };
}

/** Returns true if a call has the proof that a Facebook app may require: the token signed with the app secret. */
const isProven = (platform: Platform, { bearer, given }: SocialRequest): boolean =>
  platform !== 'facebook' ||
  given.get('appsecret_proof') === createHmac('sha256', secretOf(platform)).update(bearer).digest('hex');

/** Error text of LinkedIn (n8n-io/n8n#28600). */
const inactive = (version: string) => ({
  status: 426,
  code: 'NONEXISTENT_VERSION',
  message: `Requested version ${version} is not active`,
});
