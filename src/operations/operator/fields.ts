import { Type } from 'typebox';
import { channelName, id, instant, orNull } from '../../platform/lib/schema.ts';

export const OPERATOR_PATH = '/api/operator/v1';

export const amount = (description = 'Currency units.') => Type.Number({ description });

export const IdParams = Type.Object({ id: id() });
export const accountId = id();

export const search = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }));
export const connectionField = Type.Optional(Type.String({ maxLength: 63, description: 'Name of a connection.' }));

/** As the interface writes instants. */
export const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

export const Done = Type.Null({ description: 'Done' });
