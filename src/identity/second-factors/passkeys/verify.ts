import { generateAuthenticationOptions, verifyAuthenticationResponse } from '@simplewebauthn/server';
import type { Db } from '../../../platform/db/query.ts';
import {
  CHALLENGE_SECONDS,
  type Challenge,
  findSigner,
  type PasskeyRow,
  type Signer,
  updateSignCount,
} from '../sql.ts';
import { newChallenge, takeChallenge } from './challenge.ts';
import type { RelyingParty } from './relying-party.ts';
import type { PasskeyAnswer } from './schema.ts';

/** Purpose and user of a passkey response; the user is null if the passkey itself identifies them. */
export type Use = Omit<Challenge, 'challenge'>;

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
