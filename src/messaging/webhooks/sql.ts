import { type Db, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

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
export const updateEndpointUrl = (
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
export const updateEndpointSecret = (
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
export const moveEndpointToActive = (db: Db, { accountId }: { accountId: number }): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET status = 'active', disabled_reason = NULL, failing_since = NULL, updated_at = now()
      WHERE account_id = ${accountId} AND status = 'disabled'
      RETURNING ${ENDPOINT}`,
  );

/** Deletes the endpoint of an account. Undefined when there is none. */
export const deleteEndpoint = (db: Db, { accountId }: { accountId: number }): Promise<{ id: number } | undefined> =>
  maybeOne<{ id: number }>(db, sql`DELETE FROM webhook_endpoint WHERE account_id = ${accountId} RETURNING id`);
