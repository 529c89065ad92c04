import { Type } from 'typebox';
import { CHANNELS } from '../../platform/lib/channel.ts';

export const PATH = '/api/operator/v1';

export const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const instant = (description = 'UTC') => Type.String({ format: 'date-time', description });
export const amount = (description = 'Currency units.') => Type.Number({ description });
export const ChannelName = Type.Enum([...CHANNELS], { type: 'string' });

const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const Id = Type.Object({ id });
export const accountId = id;

export const search = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }));
export const connectionField = Type.Optional(Type.String({ maxLength: 63, description: 'Name of a connection.' }));

/** As the interface writes instants. */
export const isoOf = (at: Date | null): string | null => at?.toISOString() ?? null;

export const Nothing = Type.Null({ description: 'Done' });
