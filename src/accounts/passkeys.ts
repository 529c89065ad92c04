import { randomBytes } from 'node:crypto';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Config } from '../core/config.ts';
import type { Db } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import { isSecure } from '../core/http/browser.ts';
import { isRecord } from '../core/schema.ts';
import {
  CHALLENGE_SECONDS,
  type Challenge,
  deleteChallenge,
  type FactorOwner,
  findSigner,
  insertChallenge,
  type NewPasskey,
  type PasskeyRow,
  type Signer,
  updateSignCount,
} from './second-factors.ts';

const base64url = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength });

const answerOf = <T extends Type.TSchema>(response: T, description: string) =>
  Type.Object(
    {
      id: base64url(1400),
      rawId: base64url(1400),
      type: Type.Literal('public-key'),
      response,
    },
    { description: `${description} Other members are ignored.` },
  );

/** Response of a browser that has made a passkey (WebAuthn, RegistrationResponseJSON). */
export const RegistrationBody = answerOf(
  Type.Object({
    clientDataJSON: base64url(4000),
    attestationObject: base64url(12_000),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 10 })),
  }),
  'The `RegistrationResponseJSON` of the browser.',
);

/** Response of a browser that has used a passkey (WebAuthn, AuthenticationResponseJSON). */
export const PasskeyBody = answerOf(
  Type.Object({
    clientDataJSON: base64url(4000),
    authenticatorData: base64url(4000),
    signature: base64url(8000),
    userHandle: Type.Optional(Type.String({ maxLength: 100 })),
  }),
  'The `AuthenticationResponseJSON` of the browser.',
);

type RegistrationAnswer = Static<typeof RegistrationBody>;
export type PasskeyAnswer = Static<typeof PasskeyBody>;

/** Options for the browser; their members are defined by WebAuthn, so no schema of ours lists them. */
export const BrowserOptions = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'The `PublicKeyCredential…OptionsJSON` for the browser.',
});

const CHALLENGE_BYTES = 32;

/** Stores a new challenge and returns it. It can be used once, within five minutes, from any process. */
async function newChallenge(db: Db, about: Omit<Challenge, 'challenge'>): Promise<Buffer<ArrayBuffer>> {
  const challenge = Buffer.from(randomBytes(CHALLENGE_BYTES));
  await insertChallenge(db, { ...about, challenge });
  return challenge;
}

/**
 * Uses up the challenge that the browser signed and returns it in Base64url. Returns undefined if it is not one of ours
 * for this purpose and user, was used before, or is too old.
 */
async function takeChallenge(
  db: Db,
  about: Omit<Challenge, 'challenge'>,
  clientDataJson: string,
): Promise<string | undefined> {
  const challenge = challengeIn(clientDataJson);
  if (challenge?.length !== CHALLENGE_BYTES) return undefined;
  return (await deleteChallenge(db, { ...about, challenge })) > 0 ? challenge.toString('base64url') : undefined;
}

function challengeIn(clientDataJson: string): Buffer | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJson, 'base64url').toString());
    return isRecord(data) && typeof data['challenge'] === 'string'
      ? Buffer.from(data['challenge'], 'base64url')
      : undefined;
  } catch {
    // Not JSON: nothing that a browser signed.
    return undefined;
  }
}

/** EdDSA, ES256 and RS256, which all authenticators between them know. */
const ALGORITHMS = [-8, -7, -257];

type Registrant = FactorOwner & { readonly username: string };

/**
 * Returns the options with which a browser makes a passkey for this user, which can also sign in without a password.
 * `existing` are the passkeys that the user has: their authenticators offer no second one.
 */
export async function registrationOptions(
  db: Db,
  party: RelyingParty,
  { userId, username }: Registrant,
  existing: readonly PasskeyRow[],
): Promise<object> {
  return generateRegistrationOptions({
    rpName: 'Heliograph',
    rpID: party.id,
    userName: username,
    userID: new TextEncoder().encode(`heliograph:${userId}`),
    challenge: await newChallenge(db, { purpose: 'register', userId }),
    timeout: CHALLENGE_SECONDS * 1000,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: existing.map(({ credentialId, transports }) => ({
      id: credentialId.toString('base64url'),
      transports,
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/**
 * Checks the browser's response to `registrationOptions`. Errors: 400 unless it is for an unused challenge of this
 * user, on a page of ours, with a key that was made with the user verified.
 */
export async function verifyRegistration(
  db: Db,
  party: RelyingParty,
  { userId }: FactorOwner,
  answer: RegistrationAnswer,
): Promise<Omit<NewPasskey, 'name'>> {
  const about = { purpose: 'register', userId } as const;
  const expectedChallenge = await takeChallenge(db, about, answer.response.clientDataJSON);
  if (expectedChallenge === undefined) throw refused();
  refuseCertificates(answer.response.attestationObject);
  const expected = { expectedChallenge, expectedOrigin: party.origin, expectedRPID: party.id };
  const response = { ...answer, clientExtensionResults: {} };
  const input = { response, ...expected, supportedAlgorithmIDs: ALGORITHMS };
  const result = await verifyRegistrationResponse(input).catch((cause: unknown) => {
    throw refused(cause);
  });
  if (!result.verified) throw refused();
  const { id, publicKey, counter } = result.registrationInfo.credential;
  return {
    credentialId: Buffer.from(id, 'base64url'),
    publicKey: Buffer.from(publicKey),
    signCount: counter,
    transports: answer.response.transports ?? [],
  };
}

/**
 * We ask for no attestation, and browsers then send none. Certificates that a client nevertheless adds are not read:
 * the library would follow their addresses.
 */
function refuseCertificates(attestationObject: string): void {
  try {
    const attestation = decodeAttestationObject(Buffer.from(attestationObject, 'base64url'));
    const format = attestation.get('fmt');
    if (format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)) return;
  } catch (cause) {
    throw refused(cause);
  }
  throw refused();
}

const refused = (cause?: unknown): AppError =>
  new AppError('invalid', { message: 'This passkey could not be checked: try again', cause });

/** Owner of passkeys: the origin of the console's pages, and the host name in it (WebAuthn, section 4). */
export type RelyingParty = { readonly origin: string; readonly id: string };

type Request = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>;

/**
 * Returns the relying party of a page that sends this request: PUBLIC_URL if the page states that it is there (a proxy
 * may not pass the host name on), otherwise the origin of the request itself. The browser signs the true origin, so
 * that a page elsewhere gains nothing by stating another one.
 */
export function relyingPartyOf(request: Request, { publicUrl }: Pick<Config, 'publicUrl'>): RelyingParty {
  const own = new URL(`${isSecure(request) ? 'https' : 'http'}://${request.host}`);
  const known = new URL(publicUrl);
  const { origin, hostname } = request.headers.origin === known.origin ? known : own;
  return { origin, id: hostname };
}

/** Purpose and user of a passkey response; the user is null if the passkey itself identifies them. */
type Use = Omit<Challenge, 'challenge'>;

/**
 * Returns true if the authenticator must have verified its user, for example by a PIN or a finger: without a password
 * the passkey is the only proof.
 */
const needsVerification = ({ purpose }: Use): boolean => purpose === 'sign-in';

/** Returns the options with which a browser uses a passkey: one of these, or without any, one that the user chooses. */
export async function passkeyOptions(
  db: Db,
  party: RelyingParty,
  use: Use,
  allowed: readonly PasskeyRow[],
): Promise<object> {
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: await newChallenge(db, use),
    timeout: CHALLENGE_SECONDS * 1000,
    userVerification: needsVerification(use) ? 'required' : 'preferred',
    allowCredentials: allowed.map(({ credentialId, transports }) => ({
      id: credentialId.toString('base64url'),
      transports,
    })),
  });
}

/**
 * Checks the browser's response to `passkeyOptions` and returns the passkey with its user. Returns null unless it is
 * for an unused challenge for this use, on a page of ours, signed by a passkey of this user whose counter has not gone
 * back.
 */
export async function verifyPasskey(
  db: Db,
  party: RelyingParty,
  use: Use,
  answer: PasskeyAnswer,
): Promise<Signer | null> {
  const expectedChallenge = await takeChallenge(db, use, answer.response.clientDataJSON);
  if (expectedChallenge === undefined) return null;
  const signer = await findSigner(db, { credentialId: Buffer.from(answer.id, 'base64url') });
  if (!signer || (use.userId !== null && signer.userId !== use.userId)) return null;
  const credential = {
    id: signer.credentialId.toString('base64url'),
    publicKey: Uint8Array.from(signer.publicKey),
    counter: signer.signCount,
  };
  const expected = { expectedChallenge, expectedOrigin: party.origin, expectedRPID: party.id };
  const requireUserVerification = needsVerification(use);
  const response = { ...answer, clientExtensionResults: {} };
  const input = { response, ...expected, credential, requireUserVerification };
  // The library throws for anything that does not match.
  const result = await verifyAuthenticationResponse(input).catch(() => null);
  if (!result?.verified) return null;
  const { newCounter: to } = result.authenticationInfo;
  return (await updateSignCount(db, { id: signer.passkeyId, from: signer.signCount, to })) > 0 ? signer : null;
}
