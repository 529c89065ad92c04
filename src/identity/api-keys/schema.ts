import { type Static, Type } from 'typebox';
import { SCOPES } from '../../platform/lib/scope.ts';
import type { IssuedKey } from './create.ts';
import type { KeyRow } from './sql.ts';
import { id, instant, orNull } from '../../platform/lib/schema.ts';

const MAX_GRACE_SECONDS = 7 * 24 * 3600;

const text = (maxLength: number, description: string) => Type.String({ maxLength, description });

const Operation = Type.Enum([...SCOPES], {
  type: 'string',
  description: 'A channel to send on, or an area of the API to use.',
});

export const KeyIn = Type.Object({
  name: Type.Optional(text(200, 'A name to tell keys apart.')),
  description: Type.Optional(text(1000, 'A description for people.')),
  operations: Type.Optional(
    Type.Array(Operation, {
      minItems: 1,
      maxItems: 100,
      description: 'All scopes of the caller by default. Scopes that the caller lacks are rejected with 403.',
    }),
  ),
  expiresAt: Type.Optional(
    orNull(instant('ISO 8601 with an offset, in the future. By default the key never expires.')),
  ),
});

/** The body may be missing. */
export const RotateIn = Type.Union([
  Type.Object({
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        description:
          'Time for which the previous value keeps working; by default it stops immediately. Values of earlier ' +
          'rotations keep their own grace period.',
      }),
    ),
  }),
  Type.Null(),
]);

export const KeyIssued = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  apiKey: Type.String({ description: '`pg_live_` and 43 base64url characters. Shown only once.' }),
  operations: Type.Array(Type.String()),
  createdAt: instant('UTC'),
  expiresAt: orNull(instant('UTC')),
});

export const KeyOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  description: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the current value.' }),
  username: orNull(Type.String({ description: 'The user who made it; null if an operator did.' })),
  operations: Type.Array(Type.String()),
  trafficType: Type.Enum(['production', 'trial'], { type: 'string' }),
  createdAt: instant('UTC'),
  lastUsedAt: orNull(instant('UTC, exact to about a minute.')),
  expiresAt: orNull(instant('UTC')),
  status: Type.Enum(['active', 'expired'], { type: 'string' }),
});

export const KeyId = Type.Object({ id: id() });
/** Named like that of `KeyId`: it is the same path, and OpenAPI knows one name for each place in a path. */
export const KeyValue = Type.Object({ id: Type.String({ description: 'The value of a key, not its ID.' }) });

/** Formats a new key with its value for responses. */
export const toKeyIssued = (key: IssuedKey): Static<typeof KeyIssued> => ({
  id: key.id,
  name: key.name,
  description: key.description,
  apiKey: key.apiKey,
  operations: [...key.operations],
  createdAt: key.createdAt.toISOString(),
  expiresAt: key.expiresAt?.toISOString() ?? null,
});

/** Formats a key for lists. The plan `unlimited` sends production traffic too. */
export const toKeyOut = (key: KeyRow): Static<typeof KeyOut> => ({
  id: key.id,
  name: key.name,
  description: key.description,
  prefix: key.prefix,
  username: key.username,
  operations: key.operations,
  trafficType: key.plan === 'trial' ? 'trial' : 'production',
  createdAt: key.createdAt.toISOString(),
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  expiresAt: key.expiresAt?.toISOString() ?? null,
  status: key.expired ? 'expired' : 'active',
});
