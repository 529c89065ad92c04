import { type Static, Type } from 'typebox';

const base64url = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength });

const answerOf = <T extends Type.TSchema>(response: T, description: string) =>
  Type.Object(
    {
      id: base64url(1400),
      rawId: base64url(1400),
      type: Type.Literal('public-key'),
      response,
    },
    { description: `${description} Other members are ignored.` },
  );

/** Response of a browser that has made a passkey (WebAuthn, RegistrationResponseJSON). */
export const RegistrationBody = answerOf(
  Type.Object({
    clientDataJSON: base64url(4000),
    attestationObject: base64url(12_000),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 10 })),
  }),
  'The `RegistrationResponseJSON` of the browser.',
);

/** Response of a browser that has used a passkey (WebAuthn, AuthenticationResponseJSON). */
export const PasskeyBody = answerOf(
  Type.Object({
    clientDataJSON: base64url(4000),
    authenticatorData: base64url(4000),
    signature: base64url(8000),
    userHandle: Type.Optional(Type.String({ maxLength: 100 })),
  }),
  'The `AuthenticationResponseJSON` of the browser.',
);

export type RegistrationAnswer = Static<typeof RegistrationBody>;
export type PasskeyAnswer = Static<typeof PasskeyBody>;

/** Options for the browser; their members are defined by WebAuthn, so no schema of ours lists them. */
export const BrowserOptions = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'The `PublicKeyCredential…OptionsJSON` for the browser.',
});
