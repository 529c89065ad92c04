import { createPublicKey, randomBytes, verify, type KeyObject } from 'node:crypto';
import { getMember, parseJson, getText } from '../../carriers/json.ts';
import { GRANT_TYPE, SCOPE } from '../../carriers/rcs/jwt.ts';
import { ok } from './answer.ts';
import type { SandboxAnswer, SandboxRequest } from '../http/server.ts';
import type { LedgerWriter } from './ledger.ts';
import type { RbmScript } from './script.ts';

/** The access tokens of the simulator. */
export type OAuth = {
  /** Handles a request to the token endpoint (RBM API, authorization). */
  grant(request: SandboxRequest): SandboxAnswer;
  /** Returns true if an `Authorization` header contains a valid token. */
  admits(header: string | undefined): boolean;
  /** Invalidates all tokens. */
  revokeTokens(): void;
};

/** Options of the token endpoint. */
export type OAuthOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  /** The address of the only service account. */
  readonly clientEmail: string;
  readonly privateKeyId: string;
  /** An RSA key in PEM. */
  readonly privateKey: string;
  /** Returns the audience that assertions must name. */
  readonly audience: () => string;
};

/** Maximum difference between the clocks. */
const MAX_CLOCK_SKEW_SECONDS = 60;
/** Maximum valid tokens; beyond it the oldest is dropped. */
const MAX_TOKENS = 1000;

/** Creates the token endpoint. Throws when the private key cannot be read. */
export function createOAuth(options: OAuthOptions): OAuth {
  const { script, ledger } = options;
  const key = createPublicKey(options.privateKey);
  /** The expiry of each token, on the clock of `performance.now()`. */
  const tokens = new Map<string, number>();

  function issueToken(): SandboxAnswer {
    const token = `ya29.${randomBytes(24).toString('base64url')}`;
    tokens.set(token, performance.now() + script.tokenSeconds * 1000);
    const [oldest] = tokens.keys();
    if (tokens.size > MAX_TOKENS && oldest !== undefined) tokens.delete(oldest);
    ledger.count('tokens');
    return ok({ access_token: token, expires_in: script.tokenSeconds, token_type: 'Bearer' });
  }

  function refuse(description: string, error = 'invalid_grant'): SandboxAnswer {
    ledger.count('tokensRefused');
    return { status: 400, body: { error, error_description: description } };
  }

  return {
    grant({ method, headers, body }) {
      if (method !== 'POST' || !headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
        return refuse('Invalid request', 'invalid_request');
      }
      const form = new URLSearchParams(body.toString());
      if (form.get('grant_type') !== GRANT_TYPE) return refuse('Invalid grant_type', 'unsupported_grant_type');
      const fault = faultOfAssertion(form.get('assertion') ?? '', key, options);
      return fault === null ? issueToken() : refuse(fault);
    },
    admits(header) {
      const until = header?.startsWith('Bearer ') ? tokens.get(header.slice(7)) : undefined;
      return until !== undefined && performance.now() < until;
    },
    revokeTokens: () => tokens.clear(),
  };
}

function faultOfAssertion(assertion: string, key: KeyObject, options: OAuthOptions): string | null {
  const [header = '', claims = '', signature = ''] = assertion.split('.');
  const head = decode(header);
  const headerFits = getText(head, 'alg') === 'RS256' && getText(head, 'kid') === options.privateKeyId;
  const signed = Buffer.from(`${header}.${claims}`);
  if (!headerFits || !verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))) {
    return 'Invalid JWT Signature.';
  }
  return faultOfClaims(decode(claims), options);
}

function faultOfClaims(claims: unknown, { clientEmail, audience }: OAuthOptions): string | null {
  const now = Date.now() / 1000;
  const [iat, exp] = [Number(getMember(claims, 'iat')), Number(getMember(claims, 'exp'))];
  if (getText(claims, 'iss') !== clientEmail) return 'Invalid grant: account not found';
  if (getText(claims, 'aud') !== audience()) return 'Invalid JWT: Failed audience check.';
  if (!getText(claims, 'scope').split(' ').includes(SCOPE)) return 'Invalid OAuth scope or ID token audience provided.';
  const inTime =
    iat <= now + MAX_CLOCK_SKEW_SECONDS && exp > now - MAX_CLOCK_SKEW_SECONDS && exp - iat <= 3600 && exp > iat;
  return inTime ? null : 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.';
}

const decode = (part: string): unknown => parseJson(Buffer.from(part, 'base64url').toString());
