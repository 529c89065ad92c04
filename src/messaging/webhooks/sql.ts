import { type Db, many, maybeOne, one, sql } from '../../platform/db/query.ts';

/** Where the events of an account go. The secrets are sealed: src/messaging/webhooks/secrets.ts opens them. */
export type Endpoint = {
  accountId: number;
  id: number;
  url: string;
  form: 'A' | 'B';
  method: 'POST';
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Until then both sign. */
  previousSecretUntil: Date | null;
  status: 'active' | 'disabled';
  disabledReason: string | null;
  /** The first failure since the last success. */
  failingSince: Date | null;
  createdAt: Date;
  updatedAt: Date;
};

const COLUMNS = sql`account_id AS "accountId", id, url, form, method, secret, previous_secret AS "previousSecret",
  previous_secret_until AS "previousSecretUntil", status, disabled_reason AS "disabledReason",
  failing_since AS "failingSince", created_at AS "createdAt", updated_at AS "updatedAt"`;

export const findEndpoint = (db: Db, input: { accountId: number }): Promise<Endpoint | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM webhook_endpoint WHERE account_id = ${input.accountId}`);

/** Those of these accounts that have one, whatever their status. */
export const listEndpoints = (db: Db, input: { accountIds: readonly number[] }): Promise<Endpoint[]> =>
  many(db, sql`SELECT ${COLUMNS} FROM webhook_endpoint WHERE account_id = ANY (${input.accountIds}::bigint[])`);

/** What the operator sees of an endpoint. */
export type EndpointOverview = Pick<Endpoint, 'accountId' | 'url' | 'status' | 'disabledReason' | 'failingSince'> & {
  account: string;
};

/** Of all accounts, by id. */
export const listAllEndpoints = (db: Db): Promise<EndpointOverview[]> =>
  many(
    db,
    sql`SELECT e.account_id AS "accountId", a.name AS account, e.url, e.status, e.disabled_reason AS "disabledReason",
        e.failing_since AS "failingSince"
      FROM webhook_endpoint e JOIN account a ON a.id = e.account_id
      ORDER BY e.account_id`,
  );

type NewEndpoint = Pick<Endpoint, 'accountId' | 'url' | 'form' | 'method' | 'secret'>;

/** Takes the place of the one before, if there was one, with a new id and nothing of its history. */
export const insertEndpoint = (db: Db, { accountId, url, form, method, secret }: NewEndpoint): Promise<Endpoint> =>
  one(
    db,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, method, secret)
      VALUES (${accountId}, ${url}, ${form}, ${method}, ${secret})
      ON CONFLICT (account_id) DO UPDATE SET id = DEFAULT, url = excluded.url, form = excluded.form,
        method = excluded.method, secret = excluded.secret, previous_secret = NULL, previous_secret_until = NULL,
        status = 'active', disabled_reason = NULL, failing_since = NULL, created_at = now(), updated_at = now()
      RETURNING ${COLUMNS}`,
  );

/** Another URL for the same endpoint, which starts afresh there: active, and not failing. */
export const moveEndpointUrl = (db: Db, input: { accountId: number; url: string }): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET url = ${input.url}, status = 'active', disabled_reason = NULL,
        failing_since = NULL, updated_at = now()
      WHERE account_id = ${input.accountId}
      RETURNING ${COLUMNS}`,
  );

/** The secret of now becomes the previous one, and signs beside the new one for `overlapMs`. */
export const moveEndpointSecret = (
  db: Db,
  input: { accountId: number; secret: Buffer; overlapMs: number },
): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET previous_secret = secret, secret = ${input.secret},
        previous_secret_until = now() + make_interval(secs => ${input.overlapMs / 1000}), updated_at = now()
      WHERE account_id = ${input.accountId}
      RETURNING ${COLUMNS}`,
  );

/** A disabled one starts afresh. An active one stays as it is, and answers undefined. */
export const moveEndpointToActive = (db: Db, input: { accountId: number }): Promise<Endpoint | undefined> =>
  maybeOne(
    db,
    sql`UPDATE webhook_endpoint SET status = 'active', disabled_reason = NULL, failing_since = NULL, updated_at = now()
      WHERE account_id = ${input.accountId} AND status = 'disabled'
      RETURNING ${COLUMNS}`,
  );

export const deleteEndpoint = (db: Db, input: { accountId: number }): Promise<{ id: number } | undefined> =>
  maybeOne(db, sql`DELETE FROM webhook_endpoint WHERE account_id = ${input.accountId} RETURNING id`);
