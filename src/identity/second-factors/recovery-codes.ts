import { createHash } from 'node:crypto';
import { Secret } from 'otpauth';
import type { Db } from '../../platform/db/query.ts';
import { deleteRecoveryCodes, type FactorOwner, insertRecoveryCodes } from './sql.ts';

const CODES = 10;
/** 80 random bits: 16 characters of Base32. */
const CODE_BYTES = 10;
const CODE = /^[a-z2-7]{16}$/;

/**
 * Replaces the recovery codes of a user and returns the new ones, which cannot be shown again. Call it in a transaction.
 */
export async function replaceRecoveryCodes(tx: Db, owner: FactorOwner): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => new Secret({ size: CODE_BYTES }).base32.toLowerCase());
  await deleteRecoveryCodes(tx, owner);
  await insertRecoveryCodes(tx, { ...owner, hashes: codes.map(hashOf) });
  return codes.map((code) => code.replace(/(.{4})(?=.)/g, '$1-'));
}

const hashOf = (code: string): Buffer => createHash('sha256').update(code).digest();

/** Returns the hash under which a recovery code is stored, however it was typed; undefined if it cannot be one. */
export function hashOfRecoveryCode(typed: string): Buffer | undefined {
  const code = typed.replaceAll(/[\s-]/g, '').toLowerCase();
  return CODE.test(code) ? hashOf(code) : undefined;
}
