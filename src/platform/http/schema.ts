import { type Static, type TSchema, Type } from 'typebox';

/** Contract 1: the shape of every error. The description shows it; nothing is serialised through it. */
export const ErrorOut = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    error: Type.String({ description: 'The name of the status.' }),
    message: Type.String({ description: 'What is wrong, for people.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the header X-Request-Id.' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'Dotted path, for example `messages[0].destinations`.' }),
          message: Type.String(),
        }),
        { description: 'Every field at fault; only where fields are at fault.' },
      ),
    ),
    retryAfter: Type.Optional(Type.Integer({ description: 'Seconds to wait; the same as in Retry-After.' })),
  },
  { $id: 'Error', description: 'What went wrong' },
);

/** Contract 7: errors of the wholesale interface. */
export const WholesaleErrorOut = Type.Object(
  {
    status: Type.Literal('error'),
    message: Type.String(),
    code: Type.Integer({ description: 'The HTTP status.' }),
  },
  { $id: 'WholesaleError', description: 'What went wrong' },
);

/** Named in the description under `components`; routes point at them with `ref`. */
export const SHARED_SCHEMAS: readonly TSchema[] = [ErrorOut, WholesaleErrorOut];

/** A pointer to a schema with an `$id`, with that schema's type. Putting the schema itself would copy it. */
export const ref = <S extends TSchema & { $id?: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` });
