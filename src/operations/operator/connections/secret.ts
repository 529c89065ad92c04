import type { ConnectionKind } from '../../../network/connections/sql.ts';

type Given = Readonly<Record<string, unknown>>;

/**
 * A secret as a body has it, in the form that its kind wants: SMPP's is the password alone, and the members of the key
 * file of RCS stand beside the token. What a body leaves out stays out.
 */
export function secretFor(kind: ConnectionKind, given: Given): unknown {
  if (kind === 'smpp') return given['password'];
  if (kind === 'whatsapp') return given;
  const { serviceAccount, ...rest } = given;
  return typeof serviceAccount === 'object' ? { ...serviceAccount, ...rest } : given;
}
