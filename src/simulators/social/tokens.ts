import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseJson } from '../../carriers/json.ts';
import { isRecord } from '../../platform/lib/is-record.ts';
import { isPlatform, type Platform } from '../../platform/lib/social-platform.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import type { Choice } from './script.ts';

export type Kind = 'short' | 'access' | 'refresh' | 'page';

/** Grant that a token stands for. */
export type Granted = Pick<Choice, 'scopes' | 'linked' | 'lifetimeSeconds' | 'renewable'>;
type Claims = Granted & { readonly endsAt: number };
type Token = { readonly platform: Platform; readonly kind: Kind; readonly claims: Claims; live: boolean };

export type Tokens = ReturnType<typeof createTokens>;

/**
 * Issues tokens, and knows the valid ones. A token contains its grant, signed with `key`: so those of an earlier run
 * with the same key are still valid, and profiles outlive a restart of the sandbox.
 */
export function createTokens(key: Buffer) {
  const tokens = new Map<string, Token>();
  const secrets = new Set<string>();

  const sign = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');

  function newSecret(prefix: string): string {
    const secret = `${prefix}${randomBytes(24).toString('base64url')}`;
    secrets.add(secret);
    return secret;
  }

  function find(text: string): Token | undefined {
    const known = tokens.get(text) ?? read(text);
    if (known) tokens.set(text, known);
    return known;
  }

  /** Reads a token of an earlier run. */
  function read(text: string): Token | undefined {
    const [name = '', payload = '', signature = ''] = text.split('.');
    const [platform = '', kind = ''] = name.split('-');
    const [ours, theirs] = [Buffer.from(sign(`${name}.${payload}`)), Buffer.from(signature)];
    if (ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return undefined;
    const claims = parseJson(Buffer.from(payload, 'base64url').toString());
    if (!isPlatform(platform) || !isRecord(claims)) return undefined;
    // Signed by us, so it has our shape.
    return { platform, kind: kind as Kind, claims: claims as Claims, live: true };
  }

  return {
    secrets,
    newSecret,
    issue(platform: Platform, kind: Kind, granted: Granted): string {
      const endsAt = kind === 'access' ? Date.now() + granted.lifetimeSeconds * SECOND_MS : Number.MAX_SAFE_INTEGER;
      const claims: Claims = { ...granted, endsAt };
      const payload = Buffer.from(JSON.stringify({ ...claims, nonce: randomBytes(9).toString('base64url') }));
      const unsigned = `${platform}-${kind}.${payload.toString('base64url')}`;
      const text = `${unsigned}.${sign(unsigned)}`;
      secrets.add(text);
      tokens.set(text, { platform, kind, claims, live: true });
      return text;
    },
    isLive(text: string, platform: Platform, ...kinds: Kind[]): boolean {
      const known = find(text);
      const isOurs = known?.platform === platform && kinds.includes(known.kind);
      return isOurs && known.live && Date.now() < known.claims.endsAt;
    },
    /** Returns the grant of a valid token. */
    grantedOf: (text: string): Granted =>
      find(text)?.claims ?? { scopes: [], linked: 0, lifetimeSeconds: 0, renewable: false },
    end(text: string): void {
      const known = find(text);
      if (known) known.live = false;
    },
    takeBack(platform: Platform): void {
      for (const known of tokens.values()) if (known.platform === platform) known.live = false;
    },
    live: (platform: Platform) =>
      [...tokens].flatMap(([text, known]) => (known.live && known.platform === platform ? [text] : [])),
  };
}
