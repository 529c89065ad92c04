import { randomBytes } from 'node:crypto';
import { GATEWAY, operatorOf, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { kindOf } from './kinds/kinds.ts';
import { insertLinks, type NewConnection } from './save.ts';
import type { ConnectionKind } from './sql.ts';

export type Added = {
  readonly id: number;
  /** What the carrier is to be told of us: `verifyToken` of WhatsApp, `clientToken` of RCS. */
  readonly tokens: Readonly<Record<string, string>>;
};

type Input = Omit<NewConnection, 'sandbox' | 'kind'> & { readonly kind: ConnectionKind; readonly by: string };

/**
 * Adds a connection to a real carrier, as a person wants it. A token that is ours to choose is made up when the secret
 * has none. Call it in a transaction. Errors: as `insertLinks`.
 */
export async function addConnection(tx: Db, key: SecretKey, { by, ...input }: Input): Promise<Added> {
  const { secret, tokens } = withOwnToken(input);
  const { id } = await insertLinks(tx, key, { ...input, secret, sandbox: false });
  const event = { action: 'connection.add', subject: `connection:${input.name}`, detail: { kind: input.kind } };
  await recordAudit(tx, operatorOf(GATEWAY, by), event);
  return { id, tokens };
}

/** A secret with the token that is ours to choose, and that token. */
export function withOwnToken({ kind, secret }: Pick<Input, 'kind' | 'secret'>): {
  secret: unknown;
  tokens: Record<string, string>;
} {
  const { ownToken } = kindOf({ kind });
  if (ownToken === null || typeof secret !== 'object' || secret === null) return { secret, tokens: {} };
  const given: unknown = Reflect.get(secret, ownToken);
  const token = given === undefined ? randomBytes(24).toString('base64url') : given;
  return { secret: { ...secret, [ownToken]: token }, tokens: typeof token === 'string' ? { [ownToken]: token } : {} };
}

/** Where a carrier of this kind posts to us; null when it does not. */
export const callbackUrlOf = (publicUrl: string, { kind, name }: { kind: ConnectionKind; name: string }) =>
  kindOf({ kind }).createReader ? `${publicUrl}/api/callbacks/${kind}/${name}` : null;
