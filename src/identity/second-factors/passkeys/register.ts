import { generateRegistrationOptions, verifyRegistrationResponse } from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { CHALLENGE_SECONDS, type FactorOwner, type NewPasskey, type PasskeyRow } from '../sql.ts';
import { newChallenge, takeChallenge } from './challenge.ts';
import type { RelyingParty } from './relying-party.ts';
import type { RegistrationAnswer } from './schema.ts';

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
