import { type Static, Type } from 'typebox';
import { id, instant, orNull } from '../../platform/lib/schema.ts';
import { RegistrationBody } from './passkeys/schema.ts';
import type { FactorSummary, PasskeyRow } from './sql.ts';

const recoveryCodes = () =>
  Type.Array(Type.String(), {
    description: 'Each lets the user sign in once instead of a second factor. They cannot be shown again.',
  });

const PasskeyOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  createdAt: instant('UTC'),
  lastUsedAt: orNull(instant('UTC')),
});

export const FactorsOut = Type.Object({
  totp: orNull(
    Type.Object({ confirmedAt: instant('UTC') }, { description: 'The authenticator app; null without one.' }),
  ),
  passkeys: Type.Array(PasskeyOut),
  recoveryCodesLeft: Type.Integer(),
  required: Type.Boolean({ description: 'True if the account requires a second factor.' }),
});

export const TotpBegun = Type.Object({
  secret: Type.String({ description: 'Base32, for apps that cannot read a QR code.' }),
  uri: Type.String({ description: 'An `otpauth://` URI, for a QR code.' }),
});

/** A code as typed, with room for spaces and hyphens. */
export const code = (description: string) => Type.String({ minLength: 1, maxLength: 40, description });

export const TotpCode = Type.Object({ code: code('The six digits that the app shows.') });

export const FactorAdded = Type.Object({
  recoveryCodes: orNull(recoveryCodes()),
});

export const RecoveryCodesOut = Type.Object({ recoveryCodes: recoveryCodes() });

export const PasskeyIn = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description: 'To tell several passkeys apart.' }),
  passkey: RegistrationBody,
});

export const PASSKEY_EXAMPLE: Static<typeof PasskeyIn> = {
  name: 'My laptop',
  passkey: {
    id: 'AVxG9hK1r0f1v3sO5mJ2wQ',
    rawId: 'AVxG9hK1r0f1v3sO5mJ2wQ',
    type: 'public-key',
    response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' },
  },
};

export const PasskeyAdded = Type.Object({ passkey: PasskeyOut, recoveryCodes: orNull(recoveryCodes()) });

export const FactorId = Type.Object({ id: id() });

export const toPasskeyOut = (row: PasskeyRow): Static<typeof PasskeyOut> => ({
  id: row.id,
  name: row.name,
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
});

/** Formats the factors of a user for responses. */
export const toFactorsOut = (
  { totpSince, recoveryCodes: left, isRequired }: FactorSummary,
  passkeys: readonly PasskeyRow[],
): Static<typeof FactorsOut> => ({
  totp: totpSince && { confirmedAt: totpSince.toISOString() },
  passkeys: passkeys.map(toPasskeyOut),
  recoveryCodesLeft: left,
  required: isRequired,
});
