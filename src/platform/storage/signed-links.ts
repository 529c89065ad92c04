import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { SecretKey } from '../lib/secret-box.ts';

/** The target of a signed link: one version of a file. */
export type LinkTarget = {
  readonly kind: 'media' | 'thumbnail' | 'export';
  readonly accountId: number;
  /** The id of the file as used in the path. */
  readonly id: string;
  /** The link version of the file's row. The link is invalid once the row has another version or is gone. */
  readonly version: number;
};

/** A request for a file through a signed link. */
export type LinkRequest = Pick<LinkTarget, 'kind' | 'id'> & { readonly method: string; readonly query: unknown };

/** The result of verifying a signed link. */
export type LinkAnswer =
  | { readonly ok: true; readonly accountId: number; readonly version: number }
  | { readonly ok: false; readonly reason: 'forged' | 'expired' };

/**
 * Signs and verifies links that need no credentials. A link gives read access to one version of one file until it
 * expires. The caller must also compare the version with the file's row, so that links can be revoked.
 */
export type LinkSigner = {
  /**
   * Returns the query of the link, without the question mark. It expires at `expiresAt`, rounded down to the second.
   */
  sign(target: LinkTarget, expiresAt: Date): string;
  /** Checks the signature and the expiry of a link. */
  verify(link: LinkRequest, now: Date): LinkAnswer;
};

/** The query parameters of a link, except the signature. */
type Claims = { readonly account: string; readonly version: string; readonly expires: string; readonly key: string };

const NUMBER = /^[1-9]\d{0,15}$/;
const FORGED: LinkAnswer = { ok: false, reason: 'forged' };

/** Creates a signer. Its key is derived from SECRET_KEY: the key that encrypts passwords is not used for signing. */
export function createLinkSigner(secretKey: SecretKey): LinkSigner {
  const bytes = Buffer.from(hkdfSync('sha256', secretKey.bytes, '', 'heliograph signed links v1', 32));
  const keyId = secretKey.id.toString('hex');

  const signatureOf = ({ kind, id }: Pick<LinkTarget, 'kind' | 'id'>, claims: Claims): string =>
    // As JSON, so that the boundaries between the parts are unambiguous.
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
      // Compared as text: several base64 texts decode to the same bytes, and only one of them is the one we issued.
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
