import type { Platform } from '../../platform/lib/social-platform.ts';

/** A request to a simulated network. */
export type SocialRequest = {
  readonly method: string;
  readonly query: URLSearchParams;
  /** Query and form fields together. */
  readonly given: URLSearchParams;
  readonly bearer: string;
  readonly linkedinVersion: string;
};

/** The response of a simulated network: JSON, a page, a redirect or a picture. */
export type Reply = {
  readonly status?: number;
  readonly json?: unknown;
  readonly html?: string;
  readonly location?: string;
  readonly png?: Buffer;
};

/** Returns the response of a network that rejects an exchange of tokens. */
export function refusalOf(platform: Platform, error: string): Reply {
  if (platform === 'facebook')
    return { status: 400, json: { error: { message: 'Error validating', type: 'OAuthException', code: 190 } } };
  if (platform === 'instagram')
    return { status: 400, json: { error_type: 'OAuthException', code: 400, error_message: 'Invalid code' } };
  return { status: platform === 'tiktok' ? 200 : 400, json: { error, error_description: `refused: ${error}` } };
}

/** Returns the response of a network that rejects a token. */
export function unauthorized(platform: Platform): Reply {
  if (platform === 'facebook' || platform === 'instagram') return refusalOf('facebook', '');
  if (platform === 'tiktok') return { status: 401, json: { error: { code: 'access_token_invalid', message: 'gone' } } };
  if (platform === 'google') return { status: 401, json: { error: { code: 401, status: 'UNAUTHENTICATED' } } };
  return { status: 401, json: { message: 'revoked', serviceErrorCode: 65601, status: 401 } };
}
