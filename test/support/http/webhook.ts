import type { Pool } from 'pg';
import { openWorkerSession, type WorkerSession } from '../../../src/core/db/worker-session.ts';
import { silentLog } from '../../../src/core/log.ts';
import { createGuard } from '../../../src/core/outbound.ts';
import { createPoster } from '../../../src/core/outbound-post.ts';
import { createSecretKey } from '../../../src/core/secrets.ts';
import { type Deliveries, startDeliveries } from '../../../src/webhooks/deliver.ts';
import { operatorAuthor } from '../../../src/accounts/audit.ts';
import { transaction } from '../../../src/core/db/transaction.ts';
import { createEndpoint, type EndpointSettings, insertEndpoint, sealSecret } from '../../../src/webhooks/endpoints.ts';
import { makeSecret } from '../../../src/webhooks/send.ts';
import type { TestDatabase } from '../database.ts';
import { TEST_CERT } from './certificate.ts';

/** The key that encrypts the webhook secrets of tests. */
const WEBHOOK_KEY = createSecretKey(Buffer.alloc(32, 7));

/** Registers a webhook for an account; returns its secret. */
export async function registerWebhook(
  pool: Pool,
  { accountId, url, form = 'A' }: { accountId: number; url: string; form?: 'A' | 'B' },
): Promise<string> {
  const secret = makeSecret();
  const sealed = sealSecret(WEBHOOK_KEY, accountId, secret);
  await insertEndpoint(pool, { accountId, url, form, method: 'POST', secret: sealed });
  return secret;
}

type NewEndpoint = Partial<EndpointSettings> & { readonly accountId: number; readonly url: string };

/** Adds an endpoint of format v2. */
export const addEndpoint = (pool: Pool, { accountId, ...settings }: NewEndpoint) =>
  transaction(pool, (tx) =>
    createEndpoint(tx, operatorAuthor(accountId), {
      name: 'test',
      eventTypes: ['*'],
      filters: {},
      retry: 'full',
      showsAmounts: false,
      maxPerSecond: null,
      secretKey: WEBHOOK_KEY,
      ...settings,
    }),
  );

export type WebhookWorker = Deliveries & { readonly session: WorkerSession };

/**
 * Starts a worker that only delivers webhooks, to this machine and these ports. By default a receiver has a minute for its
 * answer: on a busy machine one that came later than the program's five seconds would be one more attempt.
 */
export async function startWebhookWorker(
  { pool, connectionString }: TestDatabase,
  { ports, deadlineMs = 60_000 }: { ports: readonly number[]; deadlineMs?: number },
): Promise<WebhookWorker> {
  const session = await openWorkerSession({
    connectionString,
    log: silentLog,
  });
  const guard = createGuard({ allowedBlocks: ['127.0.0.0/8', '::1/128'], ports });
  const poster = createPoster({ guard, ca: TEST_CERT, deadlineMs });
  const deliveries = startDeliveries({
    pool,
    owner: session.owner,
    poster,
    secretKey: WEBHOOK_KEY,
    fileUrl: ({ messageId }) => `https://gateway.example.com/api/files/${messageId}`,
    log: silentLog,
  });
  return {
    ...deliveries,
    session,
    async stop(deadlineMs2) {
      await deliveries.stop(deadlineMs2);
      await poster.close();
      await session.close();
    },
  };
}
