import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { CHANNELS } from './channel.ts';

/** Makes the schema of a value that may be null. */
export const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** The schema of an instant as ISO 8601 text. */
export const instant = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });

/** The schema of a numeric id in a path, a query or a body. */
export const id = (description?: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...(description !== undefined && { description }) });

/** The schema of a channel: SMS, RCS or WHATSAPP. */
export const channelName = (description?: string) =>
  Type.Enum([...CHANNELS], { type: 'string', ...(description !== undefined && { description }) });

/**
 * Returns a valid value without the fields that its schema does not have, at any depth. For values stored as JSON: all
 * others are stored field by field, so that an unknown field gets nowhere.
 */
export const knownFieldsOf = <T extends Type.TSchema>(schema: T, value: Type.Static<T>): Type.Static<T> =>
  Value.Clean(schema, structuredClone(value)) as Type.Static<T>;
