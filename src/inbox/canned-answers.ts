import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, countRows, type Db, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
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
type CannedAnswerIn = Static<typeof CannedAnswerIn>;

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
    handler: ({ actor }) => listCannedAnswers(tenant(pool, actor), { accountId: actor.accountId }),
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
    handler: idempotentTx({ pool, answers }, 201, ({ actor, body }, tx) => addCannedAnswer(tx, actor, body)),
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
      tenantTransaction(pool, actor, (tx) => changeCannedAnswer(tx, actor, { ...body, ...params })),
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
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeCannedAnswer(tx, actor, params)),
  });
}

const MAX_CANNED_ANSWERS = 500;

/**
 * Adds a canned answer for all agents of the account. Errors: 409 when the shortcut is taken, or there are already 500.
 */
async function addCannedAnswer(tx: Db, author: Author, { shortcut, text }: CannedAnswerIn): Promise<CannedAnswer> {
  const { accountId } = author;
  if ((await countCannedAnswers(tx, { accountId })) >= MAX_CANNED_ANSWERS)
    throw new AppError('conflict', { message: `An account may have ${MAX_CANNED_ANSWERS} canned answers` });
  const made = await insertCannedAnswer(tx, { accountId, shortcut: shortcut.toLowerCase(), text: text.trim() });
  if (!made) throw taken();
  await record(tx, author, 'canned-answer.add', made);
  return made;
}

/** Changes a canned answer; omitted fields are unchanged. Errors: 404; 409 when the shortcut is taken. */
async function changeCannedAnswer(
  tx: Db,
  author: Author,
  { id, shortcut, text }: Partial<CannedAnswerIn> & { readonly id: number },
): Promise<CannedAnswer> {
  const input = { id, shortcut: shortcut?.toLowerCase() ?? null, text: text?.trim() ?? null };
  const made = await updateCannedAnswer(tx, { accountId: author.accountId, ...input }).catch(explainTaken);
  if (!made) throw new AppError('not_found');
  await record(tx, author, 'canned-answer.change', made);
  return made;
}

/** Deletes a canned answer. Errors: 404. */
async function removeCannedAnswer(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const gone = await deleteCannedAnswer(tx, { accountId: author.accountId, id });
  if (!gone) throw new AppError('not_found');
  await record(tx, author, 'canned-answer.remove', gone);
}

const taken = (): AppError =>
  new AppError('conflict', { message: 'A canned answer with this shortcut already exists' });

const explainTaken = (cause: unknown): never => {
  throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? taken() : cause;
};

/** The audit log names the answer, not its text. */
const record = (tx: Db, author: Author, action: string, { id, shortcut }: CannedAnswer): Promise<void> =>
  recordAudit(tx, author, { action, subject: `canned-answer:${id}`, detail: { shortcut } });

const CANNED = columns({ id: as<number>('a.id'), shortcut: as<string>('a.shortcut'), text: as<string>('a.text') });
/** A text that agents insert by its shortcut. */
type CannedAnswer = RowOf<typeof CANNED>;

type Of = { readonly accountId: number };

/** Lists all canned answers of an account, by shortcut. */
const listCannedAnswers = (db: Db, { accountId }: Of): Promise<CannedAnswer[]> =>
  many(db, sql`SELECT ${CANNED} FROM canned_answer a WHERE a.account_id = ${accountId} ORDER BY a.shortcut`);

const countCannedAnswers = (db: Db, { accountId }: Of): Promise<number> =>
  countRows(db, sql`FROM canned_answer WHERE account_id = ${accountId}`);

/** Inserts a canned answer; undefined when the shortcut is taken. */
const insertCannedAnswer = (
  db: Db,
  { accountId, shortcut, text }: Of & Omit<CannedAnswer, 'id'>,
): Promise<CannedAnswer | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO canned_answer AS a (account_id, shortcut, text) VALUES (${accountId}, ${shortcut}, ${text})
        ON CONFLICT (account_id, shortcut) DO NOTHING RETURNING ${CANNED}`,
  );

/**
 * Updates a canned answer; null leaves a field unchanged. Undefined: unknown id. Fails (23505) when the shortcut is
 * taken.
 */
const updateCannedAnswer = (
  db: Db,
  input: Of & { readonly id: number; readonly shortcut: string | null; readonly text: string | null },
): Promise<CannedAnswer | undefined> =>
  maybeOne(
    db,
    sql`UPDATE canned_answer a SET shortcut = coalesce(${input.shortcut}, a.shortcut), text = coalesce(${input.text}, a.text)
        WHERE a.account_id = ${input.accountId} AND a.id = ${input.id} RETURNING ${CANNED}`,
  );

/** Deletes a canned answer; undefined when the account has none with this id. */
const deleteCannedAnswer = (
  db: Db,
  { accountId, id }: Of & { readonly id: number },
): Promise<CannedAnswer | undefined> =>
  maybeOne(db, sql`DELETE FROM canned_answer a WHERE a.account_id = ${accountId} AND a.id = ${id} RETURNING ${CANNED}`);
