import { type Static, type TSchema, Type } from 'typebox';

const warnings = Type.Optional(
  Type.Array(Type.String(), {
    description: 'With 400: the unknown fields of the request. One of them may be the missing field.',
  }),
);

const retryAfter = Type.Optional(Type.Integer({ description: 'Seconds to wait; the same as in Retry-After.' }));

/** The shape of every error. It is only for the OpenAPI description; nothing is serialised through it. */
export const ErrorOut = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    error: Type.String({ description: 'The name of the status.' }),
    message: Type.String({ description: 'Human-readable error message.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the X-Request-Id header.' }),
    code: Type.Optional(
      Type.String({
        description:
          '`step_up_required`: the session must first confirm that it is the user, with `POST /session/step-up`. ' +
          '`second_factor_required`: the user must first add a second factor. Absent in all other errors.',
      }),
    ),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'Dotted path, for example `messages[0].destinations`.' }),
          message: Type.String(),
        }),
        { description: 'Every invalid field; absent if the error is not about fields.' },
      ),
    ),
    retryAfter,
    warnings,
  },
  { $id: 'Error', description: 'Error' },
);

/** The shape of errors of the wholesale API. */
export const WholesaleErrorOut = Type.Object(
  {
    status: Type.Literal('error'),
    message: Type.String(),
    code: Type.Integer({ description: 'The HTTP status.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the X-Request-Id header.' }),
    retryAfter,
    warnings,
  },
  { $id: 'WholesaleError', description: 'Error' },
);

/** The schemas listed under `components` in the OpenAPI description; routes refer to them with `ref`. */
export const SHARED_SCHEMAS: readonly TSchema[] = [ErrorOut, WholesaleErrorOut];

/** A reference to a schema with an `$id`, typed as that schema. Using the schema itself would copy it. */
export const ref = <S extends TSchema & { $id?: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` });

/**
 * Gives the body of one operation examples: requests that work against the demo account of a fresh start, or show the
 * form of data that only a device or another server can produce. They appear in the OpenAPI description, and a test
 * sends them. The schema itself is not changed, so that several operations can share it.
 */
export const withExamples = <S extends TSchema>(schema: S, ...examples: readonly [Static<S>, ...Static<S>[]]): S => {
  // TypeBox hides its markers from a spread: they are not enumerable.
  const copy: S = Object.create(Object.getPrototypeOf(schema), Object.getOwnPropertyDescriptors(schema));
  return Object.assign(copy, { examples });
};
