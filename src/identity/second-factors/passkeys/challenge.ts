import { randomBytes } from 'node:crypto';
import type { Db } from '../../../platform/db/query.ts';
import { isRecord } from '../../../platform/lib/is-record.ts';
import { type Challenge, deleteChallenge, insertChallenge } from '../sql.ts';

const CHALLENGE_BYTES = 32;

/** Stores a new challenge and returns it. It can be used once, within five minutes, from any process. */
export async function newChallenge(db: Db, about: Omit<Challenge, 'challenge'>): Promise<Buffer<ArrayBuffer>> {
  const challenge = Buffer.from(randomBytes(CHALLENGE_BYTES));
  await insertChallenge(db, { ...about, challenge });
  return challenge;
}

/**
 * Uses up the challenge that the browser signed and returns it in Base64url. Returns undefined if it is not one of ours
 * for this purpose and user, was used before, or is too old.
 */
export async function takeChallenge(
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
