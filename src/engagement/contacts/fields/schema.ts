import { type Static, Type } from 'typebox';
import type { FieldRow } from './sql.ts';
import { id, instant } from '../../../platform/lib/schema.ts';

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

export const FieldIn = Type.Object({ name, type, description: Type.Optional(description) });
export const FieldPatch = Type.Object({
  name: Type.Optional(name),
  type: Type.Optional(type),
  description: Type.Optional(description),
});

export const FieldOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  type,
  description: Type.String(),
  createdAt: instant(),
});

export const FieldId = Type.Object({ id: id() });

export const toFieldOut = (field: FieldRow): Static<typeof FieldOut> => ({
  ...field,
  createdAt: field.createdAt.toISOString(),
});
