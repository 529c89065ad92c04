import { type Static, type TSchema, Type } from 'typebox';

/** The shape of every error (contract 1). It is only for the OpenAPI description; nothing is serialised through it. */
export const ErrorOut = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    error: Type.String({ description: 'The name of the status.' }),
    message: Type.String({ description: 'What is wrong, for humans.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the X-Request-Id header.' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'Dotted path, for example `messages[0].destinations`.' }),
          message: Type.String(),
        }),
        { description: 'Every invalid field; absent if the error is not about fields.' },
      ),
    ),
    retryAfter: Type.Optional(Type.Integer({ description: 'Seconds to wait; the same as in Retry-After.' })),
  },
  { $id: 'Error', description: 'Error' },
);

/** The shape of errors of the wholesale API (contract 7). */
export const WholesaleErrorOut = Type.Object(
  {
    status: Type.Literal('error'),
    message: Type.String(),
    code: Type.Integer({ description: 'The HTTP status.' }),
  },
  { $id: 'WholesaleError', description: 'Error' },
);

/** The schemas listed under `components` in the OpenAPI description; routes refer to them with `ref`. */
export const SHARED_SCHEMAS: readonly TSchema[] = [ErrorOut, WholesaleErrorOut];

/** A reference to a schema with an `$id`, typed as that schema. Using the schema itself would copy it. */
export const ref = <S extends TSchema & { $id?: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` });
