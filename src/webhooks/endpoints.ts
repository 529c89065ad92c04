import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { ADDRESS_REFUSED, type Guard } from '../core/outbound.ts';
import type { Poster, PostResult } from '../core/outbound-post.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { DAY_MS } from '../core/time.ts';
import { bodyOf, EVENTS } from './events.ts';
import { makeSecret, signedHeaders, timestampOf } from './send.ts';

/** Time for which the previous secret signs in addition to the new one. */
const SECRET_OVERLAP_MS = DAY_MS;

/** The error when an account has no endpoint. */
export const noWebhook = (): AppError => new AppError('not_found', { message: 'The account has no webhook' });

type Registration = Pick<Endpoint, 'url' | 'form'> & { readonly secretKey: SecretKey };

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

/** Characters that the WHATWG parser changes: it drops tabs and newlines, and reads \ as /. */
const STRANGE = /[\s\\\p{Cc}\p{Cf}]/u;
const AUTHORITY = /^https:\/\/([^/?]+)/i;

/**
 * Checks that events may be posted to this URL (specification, "Receiver requirements" 1). Returns the error, as the
 * rest of a sentence that begins with the field name, or null. The URL must be complete, with https, a host whose
 * addresses are all public, and an allowed port; without a user name or fragment. The text itself is checked too,
 * because parsing hides an empty fragment or user name.
 *
 * This saves the owner from a mistake. Our protection is the same check of every connection
 * (src/core/outbound.ts).
 */
export async function findUrlFault(guard: Guard, text: string): Promise<string | null> {
  const fault = faultOfText(text) ?? faultOfPort(text, guard.ports);
  if (fault !== null) return fault;
  try {
    await guard.resolveAllowed(hostOf(text));
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === ADDRESS_REFUSED
      ? 'must lead to a host with public addresses only'
      : 'must lead to a host that can be resolved';
  }
}

function faultOfText(text: string): string | null {
  if (STRANGE.test(text)) return 'must be a URL without spaces, backslashes and control characters';
  if (!text.toLowerCase().startsWith('https:')) return 'must begin with https://';
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined || !URL.canParse(text)) return 'must be a full URL, such as https://example.com/events';
  if (text.includes('#')) return 'must have no #fragment';
  return authority.includes('@') ? 'must have no user name or password' : null;
}

function faultOfPort(text: string, ports: readonly number[]): string | null {
  const port = Number(new URL(text).port || 443);
  return ports.includes(port) ? null : `must have the port ${ports.join(' or ')}`;
}

/** An IPv6 address without its brackets. */
const hostOf = (text: string): string => new URL(text).hostname.replace(/^\[|\]$/g, '');

/**
 * Returns the context to which a sealed secret is bound: the account, because the id of the endpoint is not known
 * before the insert.
 */
const placeOf = (accountId: number): string => `webhook_endpoint.secret/${accountId}`;

/** Seals a signing secret for the database. */
export const sealSecret = (key: SecretKey, accountId: number, secret: string): Buffer =>
  seal(key, secret, placeOf(accountId));

type Sealed = Pick<Endpoint, 'accountId' | 'secret' | 'previousSecret' | 'previousSecretUntil'>;

/**
 * Opens the secrets that sign at `now`, the current one first: two while a rotation overlaps. Throws when they were
 * sealed with another SECRET_KEY.
 */
export function openSecrets(key: SecretKey, endpoint: Sealed, now: Date): string[] {
  const { accountId, secret, previousSecret, previousSecretUntil } = endpoint;
  const overlaps = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now;
  return [secret, ...(overlaps ? [previousSecret] : [])].map((sealed) =>
    open(key, sealed, placeOf(accountId)).toString(),
  );
}

/**
 * Posts one signed sample event to the endpoint, in its form: the delivery of a message to +15005550006 that never
 * existed. The event is not logged and not repeated.
 */
export function sendTest(
  { poster, secretKey }: { poster: Poster; secretKey: SecretKey },
  endpoint: Endpoint,
  now: Date,
): Promise<PostResult> {
  const [event, facts] = EVENTS.DELIVERY.example;
  const sample = { ...event, kind: 'DELIVERY', messageId: newId(), at: now } as const;
  const body = bodyOf(endpoint.form, sample, { ...facts, submittedAt: now });
  if (body === null) throw new Error('a delivery has a body in both forms');
  const secrets = openSecrets(secretKey, endpoint, now);
  const timestamp = timestampOf(now);
  return poster.post({ url: endpoint.url, headers: signedHeaders({ id: newId(), timestamp, body, secrets }), body });
}

const ENDPOINT = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  url: as<string>('url'),
  /** The form of the payload, depending on where the webhook was registered. */
  form: as<'A' | 'B'>('form'),
  method: as<'POST'>('method'),
  /** Sealed, like the previous one: `openSecrets` opens both. */
  secret: as<Buffer>('secret'),
  previousSecret: as<Buffer | null>('previous_secret'),
  /** Time until which both secrets sign. */
  previousSecretUntil: as<Date | null>('previous_secret_until'),
  status: as<'active' | 'disabled'>('status'),
  disabledReason: as<string | null>('disabled_reason'),
  /** The first failure since the last success. */
  failingSince: as<Date | null>('failing_since'),
  createdAt: as<Date>('created_at'),
  updatedAt: as<Date>('updated_at'),
});

/** Destination for the events of an account. */
export type Endpoint = RowOf<typeof ENDPOINT>;

/** Finds the endpoint of an account. */
export const findEndpoint = (db: Db, { accountId }: { accountId: number }): Promise<Endpoint | undefined> =>
  maybeOne(db, sql`SELECT ${ENDPOINT} FROM webhook_endpoint WHERE account_id = ${accountId}`);

/** Lists the endpoints of these accounts, whatever their status. */
export const listEndpoints = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<Endpoint[]> =>
  many(db, sql`SELECT ${ENDPOINT} FROM webhook_endpoint WHERE account_id = ANY (${accountIds}::bigint[])`);

const OVERVIEW = columns({
  accountId: as<number>('e.account_id'),
  account: as<string>('a.name'),
  url: as<string>('e.url'),
  status: as<Endpoint['status']>('e.status'),
  disabledReason: as<string | null>('e.disabled_reason'),
  failingSince: as<Date | null>('e.failing_since'),
});

/** Data about an endpoint for the operator. */
export type EndpointOverview = RowOf<typeof OVERVIEW>;

/** Lists the endpoints of all accounts, by account id. */
export const listAllEndpoints = (db: Db): Promise<EndpointOverview[]> =>
  many(db, sql`SELECT ${OVERVIEW} FROM webhook_endpoint e JOIN account a ON a.id = e.account_id ORDER BY e.account_id`);

type NewEndpoint = Pick<Endpoint, 'accountId' | 'url' | 'form' | 'method' | 'secret'>;

/** Inserts the endpoint of an account, or replaces the one before: with a new id and without its history. */
export const insertEndpoint = (db: Db, { accountId, url, form, method, secret }: NewEndpoint): Promise<Endpoint> =>
  one(
    db,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, method, secret)
      VALUES (${accountId}, ${url}, ${form}, ${method}, ${secret})
      ON CONFLICT (account_id) DO UPDATE SET id = DEFAULT, url = excluded.url, form = excluded.form,
        method = excluded.method, secret = excluded.secret, previous_secret = NULL, previous_secret_until = NULL,
        status = 'active', disabled_reason = NULL, failing_since = NULL, created_at = now(), updated_at = now()
      RETURNING ${ENDPOINT}`,
  );

/** Changes the URL of the endpoint, which becomes active and not failing. Undefined when the account has none. */
const updateEndpointUrl = (
  db: Db,
  { accountId, url }: { accountId: number; url: string },
): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET url = ${url}, status = 'active', disabled_reason = NULL,
        failing_since = NULL, updated_at = now()
      WHERE account_id = ${accountId}
      RETURNING ${ENDPOINT}`,
  );

/** Sets a new secret; the current one becomes the previous one and also signs for `overlapMs`. */
const updateEndpointSecret = (
  db: Db,
  { accountId, secret, overlapMs }: { accountId: number; secret: Buffer; overlapMs: number },
): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET previous_secret = secret, secret = ${secret},
        previous_secret_until = now() + make_interval(secs => ${overlapMs / 1000}), updated_at = now()
      WHERE account_id = ${accountId}
      RETURNING ${ENDPOINT}`,
  );

/** Activates a disabled endpoint, which then counts as not failing. Undefined when there is no disabled one. */
const moveEndpointToActive = (db: Db, { accountId }: { accountId: number }): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET status = 'active', disabled_reason = NULL, failing_since = NULL, updated_at = now()
      WHERE account_id = ${accountId} AND status = 'disabled'
      RETURNING ${ENDPOINT}`,
  );

/** Deletes the endpoint of an account. Undefined when there is none. */
const deleteEndpoint = (db: Db, { accountId }: { accountId: number }): Promise<{ id: number } | undefined> =>
  maybeOne<{ id: number }>(db, sql`DELETE FROM webhook_endpoint WHERE account_id = ${accountId} RETURNING id`);
