import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { SecretKey } from '../lib/secret-box.ts';

/** One version of a file. */
export type LinkTarget = {
  readonly kind: 'media' | 'thumbnail' | 'export';
  readonly accountId: number;
  /** As it stands in the path. */
  readonly id: string;
  /** Of its row. A row of another version, or none, ends the link. */
  readonly version: number;
};

export type LinkRequest = Pick<LinkTarget, 'kind' | 'id'> & { readonly method: string; readonly query: unknown };

export type LinkAnswer =
  | { readonly ok: true; readonly accountId: number; readonly version: number }
  | { readonly ok: false; readonly reason: 'forged' | 'expired' };

/**
 * Makes and checks links that need no credentials. A link opens one version of one file, to be read, until it expires; the
 * row of the file is to be looked at besides, so that a link can be taken back.
 */
export type LinkSigner = {
  /** The query of the link, without the question mark. It expires at the whole second at or before `expiresAt`. */
  sign(target: LinkTarget, expiresAt: Date): string;
  verify(link: LinkRequest, now: Date): LinkAnswer;
};

/** What stands in the query of a link, besides the signature. */
type Claims = { readonly account: string; readonly version: string; readonly expires: string; readonly key: string };

const NUMBER = /^[1-9]\d{0,15}$/;
const FORGED: LinkAnswer = { ok: false, reason: 'forged' };

/** The key that signs is derived from SECRET_KEY: what seals passwords signs nothing. */
export function createLinkSigner(secretKey: SecretKey): LinkSigner {
  const bytes = Buffer.from(hkdfSync('sha256', secretKey.bytes, '', 'heliograph signed links v1', 32));
  const keyId = secretKey.id.toString('hex');

  const signatureOf = ({ kind, id }: Pick<LinkTarget, 'kind' | 'id'>, claims: Claims): string =>
    // As JSON, so that no part can reach into the next.
    createHmac('sha256', bytes)
      .update(JSON.stringify(['GET', claims.account, kind, id, claims.version, claims.expires, claims.key]))
      .digest('base64url');

  return {
    sign(target, expiresAt) {
      const claims: Claims = {
        account: String(target.accountId),
        version: String(target.version),
        expires: String(Math.floor(expiresAt.getTime() / 1000)),
        key: keyId,
      };
      return new URLSearchParams({ ...claims, signature: signatureOf(target, claims) }).toString();
    },
    verify({ kind, id, method, query }, now) {
      const claims = readClaims(query);
      if (!claims || claims.key !== keyId || (method !== 'GET' && method !== 'HEAD')) return FORGED;
      // As text: in base64 several texts are the same octets, and only one of them is what we gave out.
      if (!equal(signatureOf({ kind, id }, claims), claims.signature)) return FORGED;
      if (now.getTime() >= Number(claims.expires) * 1000) return { ok: false, reason: 'expired' };
      return { ok: true, accountId: Number(claims.account), version: Number(claims.version) };
    },
  };
}

function readClaims(query: unknown): (Claims & { readonly signature: string }) | undefined {
  const [account, version, expires] = ['account', 'version', 'expires'].map((name) => textIn(query, name));
  const [key, signature] = [textIn(query, 'key'), textIn(query, 'signature')];
  if (!account || !version || !expires || !key || !signature) return undefined;
  return [account, version, expires].every((text) => NUMBER.test(text))
    ? { account, version, expires, key, signature }
    : undefined;
}

function textIn(query: unknown, name: string): string | undefined {
  const value: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

function equal(ours: string, theirs: string): boolean {
  const [a, b] = [Buffer.from(ours), Buffer.from(theirs)];
  return a.length === b.length && timingSafeEqual(a, b);
}
