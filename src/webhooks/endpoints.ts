import { type Author, recordAudit } from '../accounts/audit.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
  textArray,
} from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { firstIdAt, newId } from '../core/ids.ts';
import type { Poster, PostResult } from '../core/outbound-post.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { DAY_MS } from '../core/time.ts';
import { EVENT_TYPES, kindsOf } from './event-types.ts';
import { EVENTS, type Form, WEBHOOK_EVENT_KINDS } from './events.ts';
import type { Filters } from './filters.ts';
import type { RetryPlan } from './account-queue.ts';
import { notifySubscriptions } from './outbox.ts';
import { makeSecret, payloadOf, signedHeaders, spanOf, timestampOf } from './send.ts';
import { type Callback, faultOfText, isSameHost } from './urls.ts';

/** Time for which the previous secret signs in addition to the new one. */
const SECRET_OVERLAP_MS = DAY_MS;

/** The error when an account has no endpoint. */
export const noWebhook = (): AppError => new AppError('not_found', { message: 'The account has no webhook' });

type Registration = { readonly url: string; readonly form: Form; readonly secretKey: SecretKey };

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
  { secretKey, ref = 0 }: { secretKey: SecretKey; ref?: number },
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  const plainSecret = makeSecret();
  const secret = sealSecret(secretKey, accountId, plainSecret);
  const endpoint = await updateEndpointSecret(tx, { accountId, ref, secret, overlapMs: SECRET_OVERLAP_MS });
  if (!endpoint) throw noWebhook();
  await recordAudit(tx, actor, { action: 'webhook.rotate-secret', subject: `webhook:${endpoint.id}` });
  return { ...endpoint, plainSecret };
}

/**
 * Makes a disabled or paused endpoint active again. What waited longer for a paused one than its retries last is gone.
 * Errors: 404 when the account has none, 409 when it is active already. Call it in a transaction.
 */
export async function enableEndpoint(
  tx: Db,
  actor: Author,
  { ref = 0 }: { readonly ref?: number } = {},
): Promise<void> {
  const { accountId } = actor;
  const before = await findEndpoint(tx, { accountId, ref });
  const endpoint = await moveEndpointToActive(tx, { accountId, ref });
  if (endpoint && before?.status === 'paused')
    await deleteWaiting(tx, { accountId, ref, untilId: firstIdAt(new Date(Date.now() - spanOf(endpoint.retry))) });
  if (endpoint) {
    await notifySubscriptions(tx);
    return recordAudit(tx, actor, { action: 'webhook.enable', subject: `webhook:${endpoint.id}` });
  }
  const known = before;
  throw known ? new AppError('conflict', { message: 'The webhook is active' }) : noWebhook();
}

/** Deletes an endpoint and what waits for it. Errors: 404 when there is none. Call it in a transaction. */
export async function removeEndpoint(
  tx: Db,
  actor: Author,
  { ref = 0 }: { readonly ref?: number } = {},
): Promise<void> {
  const { accountId } = actor;
  const deleted = await deleteEndpoint(tx, { accountId, ref });
  if (!deleted) throw noWebhook();
  await deleteWaiting(tx, { accountId, ref, untilId: null });
  await recordAudit(tx, actor, { action: 'webhook.delete', subject: `webhook:${deleted.id}` });
}

/**
 * Finds the endpoint that gets the events of a message at this URL: the oldest one at its host, that of the
 * specification last. Only hosts that the account has proven to own by an endpoint are called, with the secret of that
 * endpoint. Errors: 400 naming `callbackUrl`.
 */
export async function findCallback(
  db: Db,
  { accountId, url }: { readonly accountId: number; readonly url: string },
): Promise<Callback> {
  const refuse = (message: string) => invalidFields([{ field: 'callbackUrl', message }]);
  const fault = faultOfText(url);
  if (fault !== null) throw refuse(fault);
  const own = await listEndpoints(db, { accountIds: [accountId] });
  const fitting = own.filter((endpoint) => endpoint.status !== 'disabled' && isSameHost(endpoint.url, url));
  const endpoint = fitting.find(({ ref }) => ref !== 0) ?? fitting[0];
  if (!endpoint) throw refuse('must lead to the host of one of your active endpoints for events');
  return { url, endpoint: endpoint.ref };
}

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
  const [event, facts] =
    (endpoint.form === 'V2' ? EVENT_TYPES['message.delivered']?.example : undefined) ?? EVENTS.DELIVERY.example;
  const id = newId();
  const about = { accountId: endpoint.accountId, endpoint: endpoint.ref, id, data: null };
  const sample = { ...event, ...about, kind: 'DELIVERY', messageId: newId(), at: now };
  const body = payloadOf(sample, { ...(facts as object), submittedAt: now }, { ...endpoint, fileUrl: () => '' });
  if (body === null) throw new Error('a delivery has a body in all forms');
  const secrets = openSecrets(secretKey, endpoint, now);
  const headers = {
    ...openHeaders(secretKey, endpoint),
    ...signedHeaders({ id, timestamp: timestampOf(now), body, secrets }),
  };
  return poster.post({ url: endpoint.url, headers, body });
}

/** Opens the further headers of an endpoint. Throws when they were sealed with another SECRET_KEY. */
export const openHeaders = (
  key: SecretKey,
  { accountId, headers }: Pick<Endpoint, 'accountId' | 'headers'>,
): Record<string, string> =>
  headers === null ? {} : JSON.parse(open(key, headers, headersPlace(accountId)).toString());

const headersPlace = (accountId: number): string => `webhook_endpoint.headers/${accountId}`;

/** Settings of an endpoint of format v2 that its owner chooses. */
export type EndpointSettings = Pick<
  Endpoint,
  'url' | 'name' | 'eventTypes' | 'filters' | 'retry' | 'showsAmounts' | 'maxPerSecond'
> & {
  /** Further headers; undefined: those that it has. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** Endpoints of an account, without the webhook of the specification. */
export const MAX_ENDPOINTS = 20;

/**
 * Makes an endpoint of format v2 for a URL, which has been checked. Returns it with its signing secret, which is shown
 * only this once. Errors: 409 for a URL that has these types already, 403 beyond the limit. Call it in a transaction.
 */
export async function createEndpoint(
  tx: Db,
  actor: Author,
  { secretKey, ...settings }: EndpointSettings & { readonly secretKey: SecretKey },
): Promise<Endpoint & { plainSecret: string }> {
  const { accountId } = actor;
  await exec(tx, sql`SELECT FROM account WHERE id = ${accountId} FOR NO KEY UPDATE`);
  const own = (await listEndpoints(tx, { accountIds: [accountId] })).filter(({ ref }) => ref !== 0);
  if (own.length >= MAX_ENDPOINTS)
    throw new AppError('forbidden', { message: `An account may have ${MAX_ENDPOINTS} endpoints` });
  const types = new Set(settings.eventTypes);
  if (
    own.some(({ url, eventTypes }) => url === settings.url && types.symmetricDifference(new Set(eventTypes)).size === 0)
  )
    throw new AppError('conflict', { message: 'An endpoint with this URL and these event types exists' });
  const plainSecret = makeSecret();
  const endpoint = await insertEndpointV2(tx, {
    ...settings,
    accountId,
    secret: sealSecret(secretKey, accountId, plainSecret),
    headers: sealHeaders(secretKey, accountId, settings.headers),
  });
  const detail = { host: new URL(settings.url).host, eventTypes: settings.eventTypes };
  await recordAudit(tx, actor, { action: 'webhook.create', subject: `webhook:${endpoint.id}`, detail });
  await notifySubscriptions(tx);
  return { ...endpoint, plainSecret };
}

const sealHeaders = (key: SecretKey, accountId: number, headers: EndpointSettings['headers'] = {}): Buffer | null =>
  Object.keys(headers).length === 0 ? null : seal(key, JSON.stringify(headers), headersPlace(accountId));

/** Changes an endpoint of format v2. Errors: 404. Call it in a transaction. */
export async function changeEndpoint(
  tx: Db,
  actor: Author,
  { secretKey, ref, ...settings }: EndpointSettings & { readonly secretKey: SecretKey; readonly ref: number },
): Promise<Endpoint> {
  const { accountId } = actor;
  const headers = settings.headers === undefined ? undefined : sealHeaders(secretKey, accountId, settings.headers);
  const endpoint = await updateEndpoint(tx, { ...settings, accountId, ref, headers });
  if (!endpoint) throw noWebhook();
  const detail = { host: new URL(settings.url).host, eventTypes: settings.eventTypes };
  await recordAudit(tx, actor, { action: 'webhook.update', subject: `webhook:${endpoint.id}`, detail });
  await notifySubscriptions(tx);
  return endpoint;
}

/** Stops posting to an endpoint; its events wait. Errors: 404, 409 when it is not active. Call it in a transaction. */
export async function pauseEndpoint(tx: Db, actor: Author, { ref }: { readonly ref: number }): Promise<void> {
  const { accountId } = actor;
  const paused = await exec(
    tx,
    sql`UPDATE webhook_endpoint SET status = 'paused', since = now(), updated_at = now()
        WHERE account_id = ${accountId} AND ref = ${ref} AND status = 'active'`,
  );
  if (paused > 0) return recordAudit(tx, actor, { action: 'webhook.pause', subject: `webhook:${ref}` });
  const known = await findEndpoint(tx, { accountId, ref });
  throw known ? new AppError('conflict', { message: `The webhook is ${known.status}` }) : noWebhook();
}

const ENDPOINT = columns({
  accountId: as<number>('account_id'),
  id: as<number>('id'),
  url: as<string>('url'),
  /** The form of the payload, depending on where the webhook was registered. */
  form: as<Form | 'V2'>('form'),
  method: as<'POST'>('method'),
  /** Sealed, like the previous one: `openSecrets` opens both. */
  secret: as<Buffer>('secret'),
  previousSecret: as<Buffer | null>('previous_secret'),
  /** Time until which both secrets sign. */
  previousSecretUntil: as<Date | null>('previous_secret_until'),
  status: as<'active' | 'paused' | 'disabled'>('status'),
  disabledReason: as<string | null>('disabled_reason'),
  /** Time since which it has its status. */
  since: as<Date>('since'),
  /** The first failure since the last success. */
  failingSince: as<Date | null>('failing_since'),
  createdAt: as<Date>('created_at'),
  updatedAt: as<Date>('updated_at'),
  /**
   * Reference in queue and log: 0 for the webhook of the specification, whatever its registration; otherwise its id.
   */
  ref: as<number>('ref'),
  name: as<string>('name'),
  /** Types as given, such as `message.*`; none for the webhook of the specification, whose form decides. */
  eventTypes: as<readonly string[]>('event_types'),
  filters: as<Filters>('filters'),
  /** Sealed JSON of further headers. */
  headers: as<Buffer | null>('headers'),
  retry: as<RetryPlan>('retry'),
  /** True if who made it may see amounts. */
  showsAmounts: as<boolean>('shows_amounts'),
  /** The most requests a second; null: any number. */
  maxPerSecond: as<number | null>('max_per_second'),
});

/** Destination for the events of an account. */
export type Endpoint = RowOf<typeof ENDPOINT>;

type Place = { readonly accountId: number; readonly ref?: number };

/** Finds an endpoint of an account, by default the webhook of the specification. */
export const findEndpoint = (db: Db, { accountId, ref = 0 }: Place): Promise<Endpoint | undefined> =>
  maybeOne(db, sql`SELECT ${ENDPOINT} FROM webhook_endpoint WHERE account_id = ${accountId} AND ref = ${ref}`);

/** Lists the endpoints of these accounts, whatever their status. */
export const listEndpoints = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<Endpoint[]> =>
  many(db, sql`SELECT ${ENDPOINT} FROM webhook_endpoint WHERE account_id = ANY (${accountIds}::bigint[]) ORDER BY ref`);

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

type NewEndpoint = Pick<Endpoint, 'accountId' | 'url' | 'method' | 'secret'> & { readonly form: Form };

/** The kinds of events that a form has. */
const kindsOfForm = (form: Form): string =>
  plainArray(WEBHOOK_EVENT_KINDS.filter((kind) => EVENTS[kind][form] !== undefined));

/** Inserts the endpoint of an account, or replaces the one before: with a new id and without its history. */
export const insertEndpoint = (db: Db, { accountId, url, form, method, secret }: NewEndpoint): Promise<Endpoint> =>
  one(
    db,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, kinds, method, secret)
      VALUES (${accountId}, ${url}, ${form}, ${kindsOfForm(form)}::text[], ${method}, ${secret})
      ON CONFLICT (account_id, ref) DO UPDATE SET id = DEFAULT, url = excluded.url, form = excluded.form,
        kinds = excluded.kinds, since = now(), method = excluded.method, secret = excluded.secret, previous_secret = NULL, previous_secret_until = NULL,
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
        failing_since = NULL, updated_at = now(), since = CASE status WHEN 'active' THEN since ELSE now() END
      WHERE account_id = ${accountId} AND ref = 0
      RETURNING ${ENDPOINT}`,
  );

/** Sets a new secret; the current one becomes the previous one and also signs for `overlapMs`. */
const updateEndpointSecret = (
  db: Db,
  { accountId, ref = 0, secret, overlapMs }: Place & { secret: Buffer; overlapMs: number },
): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET previous_secret = secret, secret = ${secret},
        previous_secret_until = now() + make_interval(secs => ${overlapMs / 1000}), updated_at = now()
      WHERE account_id = ${accountId} AND ref = ${ref}
      RETURNING ${ENDPOINT}`,
  );

/** Activates an endpoint, which then counts as not failing. Undefined when there is none that is not active. */
const moveEndpointToActive = (db: Db, { accountId, ref = 0 }: Place): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET status = 'active', disabled_reason = NULL, failing_since = NULL, updated_at = now(),
        since = now()
      WHERE account_id = ${accountId} AND ref = ${ref} AND status <> 'active'
      RETURNING ${ENDPOINT}`,
  );

/** Deletes an endpoint of an account. Undefined when there is none. */
const deleteEndpoint = (db: Db, { accountId, ref = 0 }: Place): Promise<{ id: number } | undefined> =>
  maybeOne<{ id: number }>(
    db,
    sql`DELETE FROM webhook_endpoint WHERE account_id = ${accountId} AND ref = ${ref} RETURNING id`,
  );

/**
 * Deletes what waits for an endpoint that was deleted, or (`untilId`) what has waited too long. Events that are not divided
 * among endpoints are those of the only one.
 */
const deleteWaiting = (
  db: Db,
  { accountId, ref, untilId }: { accountId: number; ref: number; untilId: string | null },
) =>
  exec(
    db,
    sql`WITH ended AS (
          DELETE FROM webhook_retry WHERE account_id = ${accountId} AND endpoint = ${ref}
            AND (${untilId}::uuid IS NULL OR id < ${untilId}) RETURNING id),
        dead AS (
          UPDATE webhook_delivery SET state = 'DEAD', next_attempt_at = NULL, updated_at = now(),
            failure = coalesce(failure, 'its endpoint was paused or deleted')
          WHERE account_id = ${accountId} AND endpoint = ${ref} AND id IN (SELECT id FROM ended))
        DELETE FROM webhook_outbox
        WHERE account_id = ${accountId} AND (${untilId}::uuid IS NULL OR seed < ${untilId})
          AND (endpoint = ${ref} OR (endpoint = -1 AND NOT EXISTS (
            SELECT FROM webhook_endpoint WHERE account_id = ${accountId} AND ref <> ${ref})))`,
  );

type StoredSettings = Omit<EndpointSettings, 'headers'> & {
  readonly accountId: number;
  readonly headers?: Buffer | null | undefined;
};

const insertEndpointV2 = (
  db: Db,
  {
    accountId,
    url,
    name,
    eventTypes,
    filters,
    retry,
    showsAmounts,
    maxPerSecond,
    headers = null,
    secret,
  }: StoredSettings & { readonly secret: Buffer },
): Promise<Endpoint> => {
  const { kinds, statuses } = kindsOf(eventTypes);
  return one(
    db,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, name, event_types, kinds, statuses, filters, retry,
          shows_amounts, max_per_second, headers, secret)
        VALUES (${accountId}, ${url}, 'V2', ${name}, ${textArray(eventTypes)}::text[], ${textArray(kinds)}::text[],
          ${plainArray(statuses)}::smallint[], ${JSON.stringify(filters)}::jsonb, ${retry}, ${showsAmounts}, ${maxPerSecond}, ${headers}, ${secret})
        RETURNING ${ENDPOINT}`,
  );
};

/** Changes an endpoint of format v2; headers that are undefined stay. */
const updateEndpoint = (
  db: Db,
  {
    accountId,
    ref,
    url,
    name,
    eventTypes,
    filters,
    retry,
    showsAmounts,
    maxPerSecond,
    headers,
  }: StoredSettings & { readonly ref: number },
): Promise<Endpoint | undefined> => {
  const { kinds, statuses } = kindsOf(eventTypes);
  return maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET url = ${url}, name = ${name}, event_types = ${textArray(eventTypes)}::text[],
          kinds = ${textArray(kinds)}::text[], statuses = ${plainArray(statuses)}::smallint[],
          filters = ${JSON.stringify(filters)}::jsonb, retry = ${retry}, shows_amounts = ${showsAmounts}, max_per_second = ${maxPerSecond},
          headers = ${headers === undefined ? sql`headers` : sql`${headers}`}, updated_at = now()
        WHERE account_id = ${accountId} AND ref = ${ref} AND form = 'V2'
        RETURNING ${ENDPOINT}`,
  );
};
