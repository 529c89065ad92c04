import type { Platform } from '../../../src/core/channels.ts';
import type { SocialScript } from '../../../src/sandbox/social-script.ts';
import { type SandboxSocial, startSandboxSocial, writeChoice } from '../../../src/sandbox/social-server.ts';

/** The PUBLIC_URL that the program is given, to which the networks redirect. Nothing listens there. */
const PUBLIC_URL = 'http://gateway.test';

/** Behaviour of the networks, and choices of the person; may be changed at any time. */
export type OauthScript = SocialScript & {
  /** The person refuses, or unticks these scopes. */
  cancel: boolean;
  without: readonly string[];
  /** The number of pages, organisations or locations that a person has. */
  pages: number;
  /** The lifetime in seconds of tokens that are not short-lived. */
  lifetimeSeconds: number;
  /** True if tokens can be renewed: at LinkedIn only by approved applications, at Google only on request. */
  refreshTokens: boolean;
};

/** The simulated networks with a person who uses them. */
export type OauthServer = AsyncDisposable &
  Pick<SandboxSocial, 'secrets' | 'validTokens' | 'revoke'> & {
    /** SOCIAL_URL, PUBLIC_URL and the application credentials of each network. */
    readonly environment: Readonly<Record<string, string>>;
    readonly script: OauthScript;
    /**
     * Opens the URL as the person would, who agrees or not; resolves with the redirect of the network, or undefined if
     * there is none.
     */
    visit(authorizeUrl: string): Promise<URL | undefined>;
  };

/** Starts the simulated networks (src/sandbox/social-server.ts), and plays the person. */
export async function startOauthServer(): Promise<OauthServer> {
  const social = await startSandboxSocial({ publicUrl: () => PUBLIC_URL });
  const person = { cancel: false, without: [], pages: 3, lifetimeSeconds: 5_184_000, refreshTokens: true };
  // One object: the networks read their part of it.
  const script: OauthScript = Object.assign(social.script, person);
  const clients = Object.entries(social.clients).flatMap(([platform, { clientId, clientSecret }]) => [
    [`${platform.toUpperCase()}_CLIENT_ID`, clientId],
    [`${platform.toUpperCase()}_CLIENT_SECRET`, clientSecret],
  ]);
  return {
    environment: { ...Object.fromEntries(clients), SOCIAL_URL: social.url, PUBLIC_URL },
    script,
    secrets: social.secrets,
    validTokens: (platform: Platform) => social.validTokens(platform),
    revoke: social.revoke,
    async visit(authorizeUrl) {
      const page = await fetch(authorizeUrl, { redirect: 'manual' });
      if (!page.headers.get('content-type')?.startsWith('text/html')) return undefined;
      const url = new URL(authorizeUrl);
      const scopes = [...(await page.text()).matchAll(/name="sandbox_scope" value="([^"]*)"/g)].map(([, scope]) =>
        String(scope),
      );
      writeChoice(url.searchParams, {
        decision: script.cancel ? 'refuse' : 'grant',
        scopes: scopes.filter((scope) => !script.without.includes(scope)),
        linked: script.pages,
        lifetimeSeconds: script.lifetimeSeconds,
        renewable: script.refreshTokens,
      });
      const response = await fetch(url, { redirect: 'manual' });
      const location = response.headers.get('location');
      return location === null ? undefined : new URL(location);
    },
    [Symbol.asyncDispose]: social.close,
  };
}
