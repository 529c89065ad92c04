import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { connectionNamed } from './find.ts';
import { kindOf } from './kinds/kinds.ts';
import { flattenSecret, type SecretFields } from './kinds/secret.ts';
import { secretOf, updateConnectionIn } from './save.ts';
import { claimConnection, type Connection, moveConnectionStatus, notifyRoutingChange, STARTS_LATER } from './sql.ts';

type Change = {
  readonly name: string;
  readonly status?: Connection['status'] | undefined;
  /** The settings that change; null restores the default. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** The fields of the secret that change. */
  readonly secret?: SecretFields | undefined;
  readonly by: string;
};

/**
 * Changes a connection; running processes follow immediately. A paused connection takes no messages: they go over the
 * next connection of their route, or wait. Call it in a transaction. Errors: 404; 400 naming every invalid setting; 409
 * for a connection of a sandbox that is retired, or restored and not started yet.
 */
export async function changeConnection(tx: Db, key: SecretKey, change: Change): Promise<void> {
  const { name, status, by } = change;
  await claimConnection(tx, { name });
  const known = await connectionNamed(tx, name);
  if (known.sandboxState === 'retired') throw retired(name);
  if (known.sandboxState === 'restored')
    throw new AppError('conflict', { message: `${name} belongs to the sandbox: it ${STARTS_LATER}` });
  if (change.settings !== undefined || change.secret !== undefined)
    await updateConnectionIn(tx, key, known, {
      settings: settingsOf(known, change),
      secret: changedSecret(known, key, change),
    });
  if (status !== undefined) await moveConnectionStatus(tx, { name, status });
  await notifyRoutingChange(tx);
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'connection.change',
    subject: `connection:${name}`,
    detail: {
      ...(status && { status }),
      ...(change.settings && { settings: change.settings }),
      ...(change.secret && { secret: 'another one' }),
    },
  });
}

const retired = (name: string): AppError =>
  new AppError('conflict', { message: `${name} belongs to the retired sandbox: "sandbox restore" brings it back` });

const settingsOf = ({ settings }: Connection, change: Change): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ ...settings, ...change.settings }).filter(([, value]) => value !== null));

/** Returns the stored fields, overridden by the new ones. */
function changedSecret(known: Connection, key: SecretKey, { secret: given = {} }: Change): SecretFields {
  const { secret } = kindOf(known);
  return { ...secret.toFields(secretOf(known, key)), ...flattenSecret(secret, given) };
}
