import { randomBytes } from 'node:crypto';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { type ConnectionKind, kindOf } from './kinds/kinds.ts';
import { flattenSecret, type SecretFields } from './kinds/secret.ts';
import { createConnectionIn, type NewConnection } from './save.ts';

export type AddedConnection = {
  readonly id: number;
  /** The tokens of ours that the operator gives to the carrier, by their names in the secret. */
  readonly tokens: Readonly<Record<string, string>>;
};

type Input = Omit<NewConnection, 'sandbox'> & { readonly by: string };

/**
 * Adds a connection to a real carrier for an operator, and records it in the audit log. Tokens that are ours to choose are
 * generated when the secret lacks them. Call it in a transaction. Errors: as `createConnectionIn`.
 */
export async function addConnection(tx: Db, key: SecretKey, { by, ...input }: Input): Promise<AddedConnection> {
  const { secret, tokens } = withGeneratedTokens(input);
  const { id } = await createConnectionIn(tx, key, { ...input, secret, sandbox: false });
  const event = { action: 'connection.add', subject: `connection:${input.name}`, detail: { kind: input.kind } };
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), event);
  return { id, tokens };
}

/** Returns a secret with the tokens that are ours to choose, and those tokens. */
export function withGeneratedTokens({ kind, secret: given }: Pick<Input, 'kind' | 'secret'>): {
  secret: SecretFields;
  tokens: Record<string, string>;
} {
  const form = kindOf({ kind }).secret;
  const names = form.fields.filter(({ generated }) => generated).map(({ name }) => name);
  const generated = Object.fromEntries(names.map((name) => [name, randomBytes(24).toString('base64url')]));
  const secret = { ...generated, ...flattenSecret(form, given) };
  const tokens = Object.entries(secret).flatMap(([name, value]) =>
    names.includes(name) && typeof value === 'string' ? [[name, value] as const] : [],
  );
  return { secret, tokens: Object.fromEntries(tokens) };
}

/** Returns the URL to which the carrier of a connection posts; null when its kind has no callbacks. */
export const callbackUrlOf = (publicUrl: string, { kind, name }: { kind: ConnectionKind; name: string }) =>
  kindOf({ kind }).callbacks ? `${publicUrl}/api/callbacks/${kind}/${name}` : null;
