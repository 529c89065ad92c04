import { Type } from 'typebox';
import { CHANNELS } from './channel.ts';

/** A value that may be absent: the schema, or null. */
export const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** An instant as ISO 8601 text in UTC. */
export const instant = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });

/** A numeric id, as a path, a query or a body holds it. */
export const id = (description?: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...(description !== undefined && { description }) });

/** The name of a channel: SMS, RCS or WHATSAPP. */
export const channelName = (description?: string) =>
  Type.Enum([...CHANNELS], { type: 'string', ...(description !== undefined && { description }) });
