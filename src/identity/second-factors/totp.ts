import { Secret, TOTP } from 'otpauth';

/** RFC 6238 as all authenticator apps know it. */
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** Codes of this many steps before and after the current one count, for clocks that differ. */
const WINDOW = 1;
/** The length that RFC 4226 recommends: that of a SHA-1 hash. */
const SECRET_BYTES = 20;

/** Generates a secret for one-time codes, in Base32. */
export const generateTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** Returns the otpauth:// URI that authenticator apps read from a QR code. */
export const totpUri = (secret: string, username: string): string => totpOf(secret, username).toString();

const totpOf = (secret: string, label: string): TOTP =>
  new TOTP({
    issuer: 'Heliograph',
    label,
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
  });

/**
 * Returns the time step of a one-time code, or null if the code is wrong at this time, or of a step that is not after
 * `lastStep`: a code counts once (RFC 6238, section 5.2).
 */
export function stepOfCode(
  secret: string,
  code: string,
  { at, lastStep }: { at: Date; lastStep: number },
): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const totp = totpOf(secret, '');
  const timestamp = at.getTime();
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  if (delta === null) return null;
  const step = totp.counter({ timestamp }) + delta;
  return step > lastStep ? step : null;
}
