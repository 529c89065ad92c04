import { type Static, Type } from 'typebox';
import { PasskeyBody } from '../second-factors/passkeys/schema.ts';
import { code } from '../second-factors/schema.ts';

/** The longest body with a passkey: more than other routes without credentials need. */
export const PASSKEY_BODY_BYTES = 32 * 1024;

const CODE = 'Six digits of the authenticator app, or a recovery code.';

export const SignInBody = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200 }),
  password: Type.String({ minLength: 1, maxLength: 200 }),
});

const pendingToken = Type.String({ maxLength: 100, description: 'From the response to `POST /session`.' });

export const PendingOut = Type.Object(
  {
    pendingToken: Type.String({
      description:
        'For the second step alone, within five minutes and for five tries. It gives access to nothing else.',
    }),
    factors: Type.Array(Type.Enum(['totp', 'passkey', 'recovery-code'], { type: 'string' }), {
      description: 'The factors with which the user can sign in.',
    }),
  },
  { description: 'The password was right. A second factor is required.' },
);

export const CodeBody = Type.Object({ pendingToken, code: code(CODE) });

export const PasskeyOptionsBody = Type.Object({ pendingToken: Type.Optional(pendingToken) });

export const PasskeySignInBody = Type.Object({ pendingToken: Type.Optional(pendingToken), passkey: PasskeyBody });

export const StepUpBody = Type.Object(
  {
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    code: Type.Optional(code(CODE)),
    passkey: Type.Optional(PasskeyBody),
  },
  { description: 'Exactly one of them.' },
);

export const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';
export const PENDING_EXAMPLE: Static<typeof PendingOut> = {
  pendingToken: TOKEN_EXAMPLE,
  factors: ['totp', 'recovery-code'],
};
export const PASSKEY_EXAMPLE: Static<typeof PasskeyBody> = {
  id: 'AVxG9hK1r0f1v3sO5mJ2wQ',
  rawId: 'AVxG9hK1r0f1v3sO5mJ2wQ',
  type: 'public-key',
  response: {
    clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
    authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
    signature: 'MEUCIQDx2kF0',
  },
};
