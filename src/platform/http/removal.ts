import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { tenantTransaction } from '../db/tenant.ts';

/**
 * Creates a handler that removes something in one transaction with the rights of the caller's account, and returns 204.
 * An error of `remove` is the response instead: 404 for an unknown or foreign id.
 */
export const removalTx =
  <Q extends FastifyRequest>(
    { pool }: { readonly pool: Pool },
    remove: (request: Q, tx: PoolClient) => Promise<unknown>,
  ) =>
  async (request: Q, reply: FastifyReply): Promise<null> => {
    await tenantTransaction(pool, request.actor, (tx) => remove(request, tx));
    reply.code(204);
    return null;
  };
