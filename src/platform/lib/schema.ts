import { Type } from 'typebox';
import { CHANNELS } from './channel.ts';

/** The schema of a value that may be null. */
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
