import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { removalTx } from '../../platform/http/removal.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { preparedTx } from '../../platform/http/idempotency.ts';
import { pageFields, PageOf, pageOf } from '../../platform/http/page.ts';
import { withExamples } from '../../platform/http/schema.ts';
import { changeCredential, removeCredential, rotateCredential } from './change.ts';
import { createCredential } from './create.ts';
import {
  CredentialId,
  CredentialIn,
  CredentialIssued,
  CredentialOut,
  toCredentialIssued,
  toCredentialOut,
} from './schema.ts';
import { newSmppPassword } from './secret.ts';
import { countCredentials, listCredentials } from './sql.ts';

const PATH = '/api/partner-gateway/v1/smpp/credentials';
const tags = ['SMPP'];

/**
 * Registers the routes for the SMPP credentials of the caller's account. All need the scope `keys`; a foreign id gets
 * the same response as an unknown one.
 */
export function smppCredentialRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.post(PATH, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createSmppCredential',
      summary: 'Create a credential for SMPP',
      description: 'For binds to the SMPP server of the gateway. The password is shown only in this response.',
      body: withExamples(Type.Union([CredentialIn, Type.Null()]), { name: 'Kannel', maxBinds: 2, tps: 100 }),
      response: { 201: CredentialIssued },
    },
    handler: preparedTx(
      { pool, answers },
      201,
      ({ actor }) => newSmppPassword(actor),
      async ({ actor, body }, tx, secret) =>
        toCredentialIssued(await createCredential(tx, actor, { ...body, ...secret })),
    ),
  });

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listSmppCredentials',
      summary: 'List the credentials for SMPP, oldest first',
      querystring: Type.Object(pageFields),
      response: { 200: PageOf(CredentialOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const { accountId } = actor;
      const { page, limit } = query;
      const [rows, total] = await Promise.all([
        listCredentials(db, { accountId, page, limit }),
        countCredentials(db, { accountId }),
      ]);
      return pageOf(query, rows.map(toCredentialOut), total);
    },
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeSmppCredential',
      summary: 'Change a credential for SMPP',
      description: 'Omitted fields are unchanged. Open binds follow immediately; those no longer allowed are closed.',
      params: CredentialId,
      body: withExamples(CredentialIn, { window: 100, senders: ['ACME'] }),
      response: { 200: CredentialOut },
    },
    handler: async ({ actor, params, body }) =>
      toCredentialOut(
        await tenantTransaction(pool, actor, (tx) => changeCredential(tx, actor, { ...body, ...params })),
      ),
  });

  app.post(`${PATH}/:id/rotate`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'rotateSmppCredential',
      summary: 'Give a credential for SMPP a new password',
      description:
        'The password is shown only in this response. Binds that were opened with the previous one are closed.',
      params: CredentialId,
      response: { 200: CredentialIssued },
    },
    handler: preparedTx(
      { pool, answers },
      200,
      ({ actor }) => newSmppPassword(actor),
      async ({ actor, params }, tx, secret) =>
        toCredentialIssued(await rotateCredential(tx, actor, { ...params, ...secret })),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteSmppCredential',
      summary: 'Delete a credential for SMPP',
      description: 'Its binds are closed immediately. Receipts that wait for them are deleted.',
      params: CredentialId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => removeCredential(tx, actor, params)),
  });
}
