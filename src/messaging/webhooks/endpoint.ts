import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import { sealSecret } from './secrets.ts';
import { makeSecret } from './sign.ts';
import {
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  moveEndpointToActive,
  updateEndpointSecret,
  updateEndpointUrl,
} from './sql.ts';

/** Time for which the previous secret signs in addition to the new one. */
const SECRET_OVERLAP_MS = DAY_MS;

/** The error when an account has no endpoint. */
export const noWebhook = (): AppError => new AppError('not_found', { message: 'The account has no webhook' });

export type Registration = Pick<Endpoint, 'url' | 'form'> & { readonly secretKey: SecretKey };

/**
 * Registers a URL, which has been checked, as the only endpoint of the account; it replaces an earlier one. Returns the
 * endpoint with its signing secret, which is shown only this once. Call it in a transaction.
 */
export async function registerEndpoint(
  tx: Db,
  actor: Author,
  { url, form, secretKey }: Registration,
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  const plainSecret = makeSecret();
  const secret = sealSecret(secretKey, accountId, plainSecret);
  const endpoint = await insertEndpoint(tx, { accountId, url, form, method: 'POST', secret });
  // Only the host: the rest of a URL often contains a token.
  const detail = { host: new URL(url).host, form };
  await recordAudit(tx, actor, { action: 'webhook.create', subject: `webhook:${endpoint.id}`, detail });
  return { ...endpoint, plainSecret };
}

/**
 * Changes the URL of the account's endpoint to one that has been checked; it may be the same URL. Id, form and secret
 * are unchanged; a disabled endpoint becomes active. Errors: 404 without an endpoint. Call it in a transaction.
 */
export async function changeUrl(tx: Db, actor: Author, { url }: { url: string }): Promise<Endpoint> {
  const endpoint = await updateEndpointUrl(tx, { accountId: actor.accountId, url });
  if (!endpoint) throw noWebhook();
  const detail = { host: new URL(url).host };
  await recordAudit(tx, actor, { action: 'webhook.update', subject: `webhook:${endpoint.id}`, detail });
  return endpoint;
}

/**
 * Gives the account's endpoint a new signing secret, which is shown only this once; the previous secret also signs for
 * 24 hours. A second rotation within that time ends the oldest of the three. Errors: 404 without an endpoint. Call it
 * in a transaction.
 */
export async function rotateSecret(
  tx: Db,
  actor: Author,
  { secretKey }: { secretKey: SecretKey },
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  const plainSecret = makeSecret();
  const secret = sealSecret(secretKey, accountId, plainSecret);
  const endpoint = await updateEndpointSecret(tx, { accountId, secret, overlapMs: SECRET_OVERLAP_MS });
  if (!endpoint) throw noWebhook();
  await recordAudit(tx, actor, { action: 'webhook.rotate-secret', subject: `webhook:${endpoint.id}` });
  return { ...endpoint, plainSecret };
}

/**
 * Makes a disabled endpoint active again. Errors: 404 when the account has none, 409 when it is active already. Call it
 * in a transaction.
 */
export async function enableEndpoint(tx: Db, actor: Author): Promise<void> {
  const { accountId } = actor;
  const endpoint = await moveEndpointToActive(tx, { accountId });
  if (endpoint) return recordAudit(tx, actor, { action: 'webhook.enable', subject: `webhook:${endpoint.id}` });
  const known = await findEndpoint(tx, { accountId });
  throw known ? new AppError('conflict', { message: 'The webhook is active' }) : noWebhook();
}

/** Deletes the account's endpoint. Errors: 404 when there is none. Call it in a transaction. */
export async function removeEndpoint(tx: Db, actor: Author): Promise<void> {
  const deleted = await deleteEndpoint(tx, { accountId: actor.accountId });
  if (!deleted) throw noWebhook();
  await recordAudit(tx, actor, { action: 'webhook.delete', subject: `webhook:${deleted.id}` });
}
