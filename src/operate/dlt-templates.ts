import { Type } from 'typebox';
import { accountIdField, Done, IdParams, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { transaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal } from '../core/http/idempotency.ts';
import { orNull } from '../core/schema.ts';
import { type DltTemplate, listDltTemplates, removeDltTemplate, setDltTemplate } from '../routing/dlt-templates.ts';
import { requireAccount } from './accounts.ts';

const digits = (description: string) =>
  Type.String({ pattern: '^[0-9]{1,30}$', description, 'x-message': 'must be up to 30 digits' });

const fields = {
  header: Type.String({ minLength: 1, maxLength: 11, description: 'The sender that the template is registered for.' }),
  entityId: digits('Id of the registered entity, sent as the parameter 0x1400.'),
  templateId: digits('Id of the template, sent as the parameter 0x1401.'),
  text: Type.String({
    minLength: 1,
    maxLength: 1530,
    description: 'The registered text, with `{#var#}` for each variable.',
  }),
};
const chain = Type.String({
  pattern: '^[!-~]{1,254}$',
  description: 'The chain of telemarketers, sent as the parameter 0x1402. Null: the carrier adds it.',
});

const TemplateOut = Type.Object({
  id: Type.Integer(),
  accountId: Type.Integer(),
  account: Type.String(),
  ...fields,
  chain: orNull(chain),
});
const TemplateIn = Type.Object({ accountId: accountIdField, ...fields, chain: Type.Optional(orNull(chain)) });

const toTemplate = ({ ownerId, ...rest }: DltTemplate) => ({ ...rest, accountId: ownerId });

const tags = ['Operator: senders'];
const PATH = `${OPERATOR_PATH}/dlt-templates`;

/**
 * Registers the routes for the texts that accounts have registered with India's operators (DLT). Running programs follow
 * immediately.
 */
export function operatorDltTemplateRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireOperator();

  app.get(PATH, {
    onRequest,
    config: { command: 'dlt-template list' },
    schema: {
      tags,
      operationId: 'operatorListDltTemplates',
      summary: 'List the texts that accounts have registered in India',
      response: { 200: Type.Object({ data: Type.Array(TemplateOut) }) },
    },
    handler: async () => ({ data: (await listDltTemplates(pool)).map(toTemplate) }),
  });

  app.post(PATH, {
    onRequest,
    config: { command: 'dlt-template add' },
    schema: {
      tags,
      operationId: 'operatorAddDltTemplate',
      summary: 'Record a text that an account has registered in India',
      description:
        'From then on, texts of the account to India must match a template of their sender, and carry its ids. ' +
        'The same header and id again change the template.',
      body: withExamples(TemplateIn, {
        accountId: 1,
        header: 'ACMECO',
        entityId: '1101000000000000001',
        templateId: '1107000000000000001',
        text: 'Your code is {#var#}. Acme',
      }),
      response: { 201: TemplateOut },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { accountId, chain: given = null, ...rest } }, tx) => {
      await requireAccount(tx, { id: accountId });
      const template = { ...rest, chain: given, ownerId: accountId, by: operatorNameOf(actor) };
      return toTemplate(await setDltTemplate(tx, template));
    }),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    config: { command: 'dlt-template remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteDltTemplate',
      summary: 'Delete a text that was registered in India',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeDltTemplate(tx, { ...params, by: operatorNameOf(actor) })),
  });
}
