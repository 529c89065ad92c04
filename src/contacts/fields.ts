import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { bodyFaults } from '../core/http/more-faults.ts';
import { id, instant } from '../core/schema.ts';
import { isOptOut } from '../messages/opt-out-links.ts';
import { CONTACT_FIELDS } from './contact-fields.ts';
import { claimBook } from './limits.ts';

const name = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$',
  'x-message': 'must begin with a letter and have at most 63 letters, digits and underscores',
  description: 'Unique, case-insensitive. Must not be the name of a standard field of contacts.',
});
const description = Type.String({ maxLength: 1000 });
const type = Type.Enum(['text', 'number', 'boolean', 'date'], {
  type: 'string',
  description: 'The type of its values; a date is `yyyy-MM-dd`. It cannot be changed.',
});

const FieldIn = Type.Object({ name, type, description: Type.Optional(description) });
const FieldPatch = Type.Object({
  name: Type.Optional(name),
  type: Type.Optional(type),
  description: Type.Optional(description),
});

const FieldOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  type,
  description: Type.String(),
  createdAt: instant(),
});

const FieldId = Type.Object({ id: id() });

const toFieldOut = (field: FieldRow): Static<typeof FieldOut> => ({
  ...field,
  createdAt: field.createdAt.toISOString(),
});

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
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeField(tx, actor, params.id)),
  });
}

/** Maximum number of custom fields of an account. */
export const MAX_FIELDS = 100;

/** The fields that every contact has: placeholders and filters with these names refer to them. */
const RESERVED: ReadonlySet<string> = new Set(Object.keys(CONTACT_FIELDS).map(foldText));

type NewField = {
  readonly name: string;
  readonly type: FieldType;
  readonly description?: string | undefined;
};

/**
 * Creates a custom field. Call it in a transaction. Errors: 400 for the name of a standard field, 403 when there are
 * already 100 fields, 409 for a name that is taken.
 */
export async function createField(
  tx: Db,
  actor: Author,
  { name, type, description = '' }: NewField,
): Promise<FieldRow> {
  const { accountId } = actor;
  throwFaults(faultsOfName(name));
  await claimBook(tx, { accountId, to: 'create' });
  if ((await listFields(tx, { accountId })).length >= MAX_FIELDS)
    throw new AppError('forbidden', { message: `An account has at most ${MAX_FIELDS} custom fields` });
  const field = await insertField(tx, { accountId, name, type, description });
  if (!field) throw nameTaken(name);
  await recordAudit(tx, actor, { action: 'custom-field.create', subject: subjectOf(field.id), detail: { name, type } });
  return field;
}

type FieldChange = {
  readonly name?: string | undefined;
  readonly type?: FieldType | undefined;
  readonly description?: string | undefined;
};

/**
 * Changes the name or description of a custom field; contacts keep their values. Call it in a transaction.
 * Errors: 400 for another type or a reserved name, 404, 409 for a name that is taken.
 */
async function changeField(tx: Db, actor: Author, id: number, change: FieldChange): Promise<FieldRow> {
  const { accountId } = actor;
  await claimBook(tx, { accountId, to: 'change' });
  const fields = await listFields(tx, { accountId });
  const current = fields.find((field) => field.id === id);
  if (!current) throw new AppError('not_found');
  const { name = current.name, description = current.description } = change;
  throwFaults(faultsOfChange(current, change));
  if (fields.some((field) => field.id !== id && foldText(field.name) === foldText(name))) throw nameTaken(name);
  const field = await updateField(tx, { accountId, id, name, description });
  await recordAudit(tx, actor, {
    action: 'custom-field.update',
    subject: subjectOf(id),
    detail: { name, description },
  });
  return field;
}

/** Deletes a custom field with its values. Call it in a transaction. Errors: 404. */
async function removeField(tx: Db, actor: Author, id: number): Promise<void> {
  if ((await deleteField(tx, { accountId: actor.accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'custom-field.delete', subject: subjectOf(id) });
}

/** Returns the faults of a name that the schema does not find: it is reserved. */
const faultsOfName = (name = ''): FieldError[] =>
  RESERVED.has(foldText(name))
    ? [{ field: 'name', message: `${name} is a standard field of contacts` }]
    : isOptOut(name)
      ? [{ field: 'name', message: `${name} is the placeholder of the link to opt out` }]
      : [];

/** Returns the faults of a change that the schema does not find: another type, or a reserved name. */
const faultsOfChange = (current: FieldRow, { name, type = current.type }: FieldChange): FieldError[] => [
  ...(type === current.type ? [] : [{ field: 'type', message: `is ${current.type} and cannot change` }]),
  ...faultsOfName(name),
];

function throwFaults(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalidFields(faults);
}

const nameTaken = (name: string): AppError =>
  new AppError('conflict', { message: `A custom field with the name ${name} already exists` });
const subjectOf = (id: number): string => `custom-field:${id}`;

/** A value of a custom field; a date is `yyyy-MM-dd`. */
export type FieldValue = string | number | boolean;
/** Values by the names of their fields, as the API has them. Null removes a value. */
type NamedValues = Readonly<Record<string, unknown>>;
export type StoredValues = Readonly<Record<string, FieldValue | null>>;

const MAX_TEXT_LENGTH = 1000;

const isDate = (value: string): boolean => {
  const date = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
};

type Check = { readonly fault: string; readonly accepts: (value: unknown) => value is FieldValue };

const CHECKS: Readonly<Record<FieldType, Check>> = {
  text: {
    fault: `must be a text of at most ${MAX_TEXT_LENGTH} characters`,
    accepts: (value): value is string => typeof value === 'string' && value.length <= MAX_TEXT_LENGTH,
  },
  number: { fault: 'must be a number', accepts: (value): value is number => Number.isFinite(value) },
  boolean: { fault: 'must be true or false', accepts: (value): value is boolean => typeof value === 'boolean' },
  date: {
    fault: 'must be a date (yyyy-MM-dd)',
    accepts: (value): value is string => typeof value === 'string' && isDate(value),
  },
};

const byName = (fields: readonly FieldRow[]) => new Map(fields.map((field) => [foldText(field.name), field]));

/** Returns the error message for a value that is not of this type. */
export const faultOfType = (type: FieldType): string => CHECKS[type].fault;

/** Reads values by name: returns them by the ids of their fields, and the errors. Names are case-insensitive. */
export function readValues(
  fields: readonly FieldRow[],
  values: NamedValues,
): { stored: StoredValues; faults: FieldError[] } {
  const known = byName(fields);
  const stored: Record<string, FieldValue | null> = {};
  const faults: FieldError[] = [];
  for (const [name, value] of Object.entries(values)) {
    const field = known.get(foldText(name));
    if (!field) faults.push({ field: `customFields.${name}`, message: 'is not a custom field of this account' });
    else if (value === null || CHECKS[field.type].accepts(value)) stored[field.id] = value;
    else faults.push({ field: `customFields.${name}`, message: faultOfType(field.type) });
  }
  return { stored, faults };
}

/**
 * Converts a text (from a query, or a cell of a file) to the type of its field; undefined if it is not of that type.
 */
export function readText(field: Pick<FieldRow, 'type'>, text: string): FieldValue | undefined {
  const value = fromText(field.type, text.trim());
  return CHECKS[field.type].accepts(value) ? value : undefined;
}

function fromText(type: FieldType, text: string): unknown {
  if (type === 'number') return text === '' ? undefined : Number(text);
  if (type !== 'boolean') return text;
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

export const toNamed = (fields: readonly FieldRow[], stored: StoredValues): Record<string, FieldValue> =>
  Object.fromEntries(
    fields.flatMap(({ id, name }) => {
      const value = stored[id];
      return value === undefined || value === null ? [] : [[name, value] as const];
    }),
  );

export type FieldType = 'text' | 'number' | 'boolean' | 'date';

const FIELD = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  type: as<FieldType>('type'),
  description: as<string>('description'),
  createdAt: as<Date>('created_at'),
});

/** A custom field of an account's contacts. */
export type FieldRow = RowOf<typeof FIELD>;

/** Lists all custom fields of an account by name: at most a hundred. */
export const listFields = (db: Db, { accountId }: { accountId: number }): Promise<FieldRow[]> =>
  many(db, sql`SELECT ${FIELD} FROM custom_field WHERE account_id = ${accountId} ORDER BY lower(name)`);

/** Inserts a custom field. Returns undefined when the account has a field with this name, in upper or lower case. */
const insertField = (
  db: Db,
  input: { accountId: number; name: string; type: FieldType; description: string },
): Promise<FieldRow | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO custom_field (account_id, name, type, description)
        VALUES (${input.accountId}, ${input.name}, ${input.type}, ${input.description})
        ON CONFLICT (account_id, fold_text(name)) DO NOTHING
        RETURNING ${FIELD}`,
  );

/** Changes the name and description of a custom field. */
const updateField = (
  db: Db,
  input: { accountId: number; id: number; name: string; description: string },
): Promise<FieldRow> =>
  one(
    db,
    sql`UPDATE custom_field SET name = ${input.name}, description = ${input.description}
        WHERE account_id = ${input.accountId} AND id = ${input.id}
        RETURNING ${FIELD}`,
  );

/** Deletes a custom field. Its values stay in the contacts, hidden, until each contact is changed the next time. */
const deleteField = (db: Db, { accountId, id }: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM custom_field WHERE account_id = ${accountId} AND id = ${id}`);
