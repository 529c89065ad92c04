import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../../platform/errors.ts';
import { claimBook } from '../book/sql.ts';
import * as db from './sql.ts';

const MAX_FIELDS = 100;

/** The fields that every contact has: placeholders and filters with these names refer to them. */
const RESERVED: ReadonlySet<string> = new Set(
  (
    'id firstName lastName fullName name gender phoneNumber email isValid isTest numberType country ' +
    'communicationSupported lastContactType lastContactDate lastCampaignType optedOut customFields createdAt updatedAt'
  )
    .toLowerCase()
    .split(' '),
);

export type NewField = {
  readonly name: string;
  readonly type: db.FieldType;
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
): Promise<db.FieldRow> {
  const { accountId } = actor;
  throwFaults(faultsOfName(name));
  await claimBook(tx, { accountId, to: 'create' });
  if ((await db.listFields(tx, { accountId })).length >= MAX_FIELDS)
    throw new AppError('forbidden', { message: `An account has at most ${MAX_FIELDS} custom fields` });
  const field = await db.insertField(tx, { accountId, name, type, description });
  if (!field) throw nameTaken(name);
  await recordAudit(tx, actor, { action: 'custom-field.create', subject: subjectOf(field.id), detail: { name, type } });
  return field;
}

export type FieldChange = {
  readonly name?: string | undefined;
  readonly type?: db.FieldType | undefined;
  readonly description?: string | undefined;
};

/**
 * Changes the name or description of a custom field; contacts keep their values. Call it in a transaction.
 * Errors: 400 for another type or a reserved name, 404, 409 for a name that is taken.
 */
export async function changeField(tx: Db, actor: Author, id: number, change: FieldChange): Promise<db.FieldRow> {
  const { accountId } = actor;
  await claimBook(tx, { accountId, to: 'change' });
  const fields = await db.listFields(tx, { accountId });
  const current = fields.find((field) => field.id === id);
  if (!current) throw new AppError('not_found');
  const { name = current.name, description = current.description } = change;
  throwFaults(faultsOfChange(current, change));
  if (fields.some((field) => field.id !== id && field.name.toLowerCase() === name.toLowerCase())) throw nameTaken(name);
  const field = await db.updateField(tx, { accountId, id, name, description });
  await recordAudit(tx, actor, {
    action: 'custom-field.update',
    subject: subjectOf(id),
    detail: { name, description },
  });
  return field;
}

/** Deletes a custom field with its values. Call it in a transaction. Errors: 404. */
export async function removeField(tx: Db, actor: Author, id: number): Promise<void> {
  if ((await db.deleteField(tx, { accountId: actor.accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'custom-field.delete', subject: subjectOf(id) });
}

/** Returns the faults of a name that the schema does not find: it is reserved. */
export const faultsOfName = (name = ''): FieldError[] =>
  RESERVED.has(name.toLowerCase()) ? [{ field: 'name', message: `${name} is a standard field of contacts` }] : [];

/** Returns the faults of a change that the schema does not find: another type, or a reserved name. */
export const faultsOfChange = (current: db.FieldRow, { name, type = current.type }: FieldChange): FieldError[] => [
  ...(type === current.type ? [] : [{ field: 'type', message: `is ${current.type} and cannot change` }]),
  ...faultsOfName(name),
];

function throwFaults(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalidFields(faults);
}

const nameTaken = (name: string): AppError =>
  new AppError('conflict', { message: `A custom field with the name ${name} already exists` });
const subjectOf = (id: number): string => `custom-field:${id}`;
