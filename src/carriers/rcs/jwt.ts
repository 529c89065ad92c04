import { createPrivateKey, sign, type KeyObject } from 'node:crypto';

/** The OAuth scope of the RBM API. */
export const SCOPE = 'https://www.googleapis.com/auth/rcsbusinessmessaging';
/** The OAuth grant type of a signed assertion. */
export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest lifetime that the network accepts. */
const LIFETIME_SECONDS = 3600;

/** A Google service account. */
export type ServiceAccount = {
  readonly clientEmail: string;
  /** An RSA key in PEM. */
  readonly privateKey: string;
  /** Empty if it is not known: the network then tries all keys of the account. */
  readonly privateKeyId: string;
  readonly tokenUri: string;
};

/**
 * Creates a function that returns a fresh assertion for the service account: a JWT signed with RS256 and valid for one
 * hour. Throws an Error that names `privateKey` if it is not a private RSA key.
 */
export function createAssertions(account: ServiceAccount): (now?: number) => string {
  const key = readKey(account.privateKey);
  const { privateKeyId: kid } = account;
  const header = encode({ alg: 'RS256', typ: 'JWT', ...(kid !== '' && { kid }) });
  return (now = Date.now()) => {
    const iat = Math.floor(now / 1000);
    const claims = { iss: account.clientEmail, scope: SCOPE, aud: account.tokenUri, iat, exp: iat + LIFETIME_SECONDS };
    const signed = `${header}.${encode(claims)}`;
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
  };
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // OpenSSL's message might quote the key.
  }
  throw new Error('privateKey: must be an RSA private key in PEM');
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
