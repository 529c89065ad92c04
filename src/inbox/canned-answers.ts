import { type Static, Type } from 'typebox';
import { collection } from '../accounts/collection.ts';
import { as, columns, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { id } from '../core/schema.ts';

const CannedAnswerIn = Type.Object({
  shortcut: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$',
    'x-message': 'must be up to 40 letters, digits, - and _',
    description: 'The name after the slash that inserts it. It is stored in lower case.',
  }),
  text: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: String.raw`\S`,
    'x-message': 'must not be empty',
    description:
      'May contain `{{firstName}}`, `{{lastName}}`, `{{fullName}}` and `{{agent}}`, which the console fills in before the ' +
      'text is sent.',
  }),
});
const CannedAnswerPatch = Type.Partial(CannedAnswerIn);
const CannedAnswerId = Type.Object({ id: id() });
const CannedAnswerOut = Type.Object({ id: Type.Integer(), shortcut: Type.String(), text: Type.String() });

const PATH = '/api/partner-gateway/v1/inbox/canned-answers';
const tags = ['Inbox'];

/** Registers the routes for the canned answers that the agents of an account share. */
export function cannedAnswerRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('inbox');

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listCannedAnswers',
      summary: 'List the canned answers',
      description: 'All of them (up to 500), by shortcut.',
      response: { 200: Type.Array(CannedAnswerOut) },
    },
    handler: ({ actor }) => CANNED_ANSWERS.list(tenant(pool, actor), actor),
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'addCannedAnswer',
      summary: 'Add a canned answer',
      body: withExamples(CannedAnswerIn, { shortcut: 'hours', text: 'Hello {{firstName}}, we are open from 9 to 18.' }),
      response: { 201: CannedAnswerOut },
    },
    handler: idempotentTx({ pool, answers }, 201, ({ actor, body }, tx) => CANNED_ANSWERS.add(tx, actor, stored(body))),
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeCannedAnswer',
      summary: 'Change a canned answer',
      description: 'Omitted fields are unchanged.',
      params: CannedAnswerId,
      body: withExamples(CannedAnswerPatch, { text: 'We are open from 10 to 18.' }),
      response: { 200: CannedAnswerOut },
    },
    handler: ({ actor, params, body }) =>
      tenantTransaction(pool, actor, (tx) =>
        CANNED_ANSWERS.change(tx, actor, params, (before) => stored({ ...before, ...body })),
      ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteCannedAnswer',
      summary: 'Delete a canned answer',
      params: CannedAnswerId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => CANNED_ANSWERS.remove(tx, actor, params)),
  });
}

/** The canned answers of an account. */
export const CANNED_ANSWERS = collection({
  table: 'canned_answer',
  columns: columns({ id: as<number>('r.id'), shortcut: as<string>('r.shortcut'), text: as<string>('r.text') }),
  fields: ['shortcut', 'text'],
  order: sql`r.shortcut`,
  max: 500,
  full: 'An account may have 500 canned answers',
  taken: 'A canned answer with this shortcut already exists',
  audit: 'canned-answer',
  // Not the text.
  detail: ({ shortcut }) => ({ shortcut }),
});

const stored = ({ shortcut, text }: Static<typeof CannedAnswerIn>) => ({
  shortcut: shortcut.toLowerCase(),
  text: text.trim(),
});
