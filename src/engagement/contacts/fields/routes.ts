import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentTx } from '../../../platform/http/idempotency.ts';
import { bodyFaults } from '../../../platform/http/validation/more-faults.ts';
import { changeField, createField, faultsOfChange, faultsOfName, removeField } from './save.ts';
import { FieldId, FieldIn, FieldOut, FieldPatch, toFieldOut } from './schema.ts';
import { listFields } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const PATH = '/api/partner-gateway/v1/contacts/fields';
const tags = ['Contacts'];

/** Registers the routes of custom fields: contacts have values for them, lists filter by them, texts use them. */
export function customFieldRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('contacts');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listCustomFields',
      summary: 'List custom fields',
      description: 'Sorted by name; an account has at most 100.',
      response: { 200: Type.Array(FieldOut) },
    },
    handler: async ({ actor }) => (await listFields(tenant(pool, actor), actor)).map(toFieldOut),
  });

  app.post(PATH, {
    onRequest,
    config: { moreFaults: bodyFaults(FieldIn, ({ name }) => faultsOfName(name)) },
    schema: {
      tags,
      operationId: 'createCustomField',
      summary: 'Create a custom field',
      body: withExamples(FieldIn, { name: 'points', type: 'number', description: 'Points of the loyalty card' }),
      response: { 201: FieldOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) =>
      toFieldOut(await createField(tx, actor, body)),
    ),
  });

  app.put(`${PATH}/:id`, {
    onRequest,
    config: {
      moreFaults: bodyFaults(FieldPatch, async (change, { actor, params }) => {
        const id = Value.Check(FieldId, params) ? params.id : undefined;
        const current = (await listFields(tenant(pool, actor), actor)).find((field) => field.id === id);
        return current ? faultsOfChange(current, change) : faultsOfName(change.name);
      }),
    },
    schema: {
      tags,
      operationId: 'changeCustomField',
      summary: 'Change the name or description of a custom field',
      description: 'Contacts keep their values.',
      params: FieldId,
      body: withExamples(FieldPatch, { description: 'Points, as of the last order' }),
      response: { 200: FieldOut },
    },
    handler: async ({ actor, params, body }) =>
      toFieldOut(await tenantTransaction(pool, actor, (tx) => changeField(tx, actor, params.id, body))),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteCustomField',
      summary: 'Delete a custom field and its values',
      params: FieldId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeField(tx, actor, params.id));
      return reply.code(204).send(null);
    },
  });
}
