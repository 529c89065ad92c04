import { createPrivateKey, sign, type KeyObject } from 'node:crypto';

/** What a service account may ask for here (protocol sheet rcs, section 1). */
export const SCOPE = 'https://www.googleapis.com/auth/rcsbusinessmessaging';
export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that the network takes. */
const LIFE_SECONDS = 3600;

export type ServiceAccount = {
  readonly clientEmail: string;
  readonly privateKey: string;
  readonly privateKeyId: string;
  readonly tokenUri: string;
};

/**
 * Makes assertions that name the service account, for an hour each, signed by RS256. Throws an Error that names
 * `privateKey` when it is not a private RSA key.
 */
export function createAssertions(account: ServiceAccount): (now?: number) => string {
  const key = readKey(account.privateKey);
  const header = encode({ alg: 'RS256', typ: 'JWT', kid: account.privateKeyId });
  return (now = Date.now()) => {
    const iat = Math.floor(now / 1000);
    const claims = { iss: account.clientEmail, scope: SCOPE, aud: account.tokenUri, iat, exp: iat + LIFE_SECONDS };
    const signed = `${header}.${encode(claims)}`;
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
  };
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // What OpenSSL says of it might quote it.
  }
  throw new Error('privateKey: must be an RSA private key in PEM');
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
