import { Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { id } from '../core/schema.ts';
import { type Author, operatorAuthor } from './audit.ts';

/** The path under which the operator API is served. */
export const OPERATOR_PATH = '/api/operator/v1';

/** Returns the schema of an amount, by default in currency units. */
export const amount = (description = 'Currency units.') => Type.Number({ description });

export const IdParams = Type.Object({ id: id() });
export const accountIdField = id();
export const connectionField = Type.Optional(Type.String({ maxLength: 63, description: 'The name of a connection.' }));
export const searchField = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }));

export const PrefixField = Type.String({
  pattern: String.raw`^\d{0,15}$`,
  description: 'Leading digits without the plus sign; empty for all numbers.',
  'x-message': 'must be up to 15 digits',
});

/** A phone number. A plus sign that is not encoded in a query arrives as a blank. */
export const NumberField = Type.String({
  pattern: String.raw`^[+ ]?\d{1,15}$`,
  description: 'E.164; the plus sign is optional.',
  'x-message': 'must be a number in E.164 form',
});

/** Returns the digits of a number, without a plus sign or blanks. */
export const digitsOf = (number: string): string => number.replace(/\D/g, '');

/** Writes an instant as in responses: ISO 8601 in UTC. */
export const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

/** The empty response of 204. */
export const Done = Type.Null({ description: 'Done' });

/** Returns the name under which the audit log records an operator's changes in the console. */
export const operatorNameOf = ({ username }: Pick<Actor, 'username'>): string => username ?? 'operator';

export const operatorAuthorOf = (actor: Actor, accountId: number): Author =>
  operatorAuthor(accountId, operatorNameOf(actor));
