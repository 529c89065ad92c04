import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

/** Options that the server gives to a browser, as far as this authenticator reads them. */
type Options = { readonly challenge: string; readonly rpId?: string; readonly rp?: { readonly id: string } };

/** Difference between a response of the authenticator and the right one. */
type Fault = {
  readonly origin?: string;
  readonly rpId?: string;
  readonly isVerified?: boolean;
  readonly counter?: number;
  readonly isForged?: boolean;
};

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_KEY = 0x40;
const ES256 = -7;

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

/**
 * An authenticator in software with one passkey, behind a browser that is at `origin`: it processes options of the server
 * as `navigator.credentials` does, or with a fault.
 */
export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  let counter = 0;

  const clientData = (type: string, challenge: string, fault: Fault): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: fault.origin ?? origin, crossOrigin: false }));

  const authenticatorData = (rpId: string, flags: number, count: number): Buffer => {
    const tail = Buffer.alloc(5);
    tail.writeUInt8(flags);
    tail.writeUInt32BE(count, 1);
    return Buffer.concat([sha256(rpId), tail]);
  };
  const flagsOf = ({ isVerified = true }: Fault): number => USER_PRESENT | (isVerified ? USER_VERIFIED : 0);

  const attested = (): Buffer => {
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const key = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, ES256],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    return Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(key)]);
  };

  return {
    id: base64url(id),
    /** Makes the passkey. */
    register({ challenge, rp }: Options, fault: Fault = {}) {
      const head = authenticatorData(fault.rpId ?? rp?.id ?? '', flagsOf(fault) | HAS_KEY, 0);
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', Buffer.concat([head, attested()])],
      ]);
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData('webauthn.create', challenge, fault)),
          attestationObject: base64url(isoCBOR.encode(attestation as never)),
          transports: ['internal'],
        },
      };
    },
    /** Signs a challenge with it. */
    sign({ challenge, rpId = '' }: Options, fault: Fault = {}) {
      counter = fault.counter ?? counter + 1;
      const data = authenticatorData(fault.rpId ?? rpId, flagsOf(fault), counter);
      const client = clientData('webauthn.get', challenge, fault);
      const signed = Buffer.concat([data, fault.isForged ? randomBytes(32) : sha256(client)]);
      return {
        id: base64url(id),
        rawId: base64url(id),
        type: 'public-key',
        response: {
          clientDataJSON: base64url(client),
          authenticatorData: base64url(data),
          signature: base64url(createSign('sha256').update(signed).sign(privateKey)),
        },
      };
    },
  };
}
