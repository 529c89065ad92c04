import { Secret, TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { generateTotpSecret, stepOfCode, totpUri } from './second-factors.ts';

/** The secret and the times of RFC 6238, appendix B, whose codes have eight digits: ours are the last six. */
const RFC_SECRET = Secret.fromLatin1('12345678901234567890').base32;

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('the code of RFC 6238 at %i seconds is right', (seconds, code) => {
  const at = new Date(seconds * 1000);
  expect(stepOfCode(RFC_SECRET, code, { at, lastStep: 0 })).toBe(Math.floor(seconds / 30));
});

test('a code counts one step before and after its own, and not two', () => {
  const [seconds, code] = [1234567890, '005924'];
  const found = [-60, -30, 0, 30, 60].map((off) =>
    stepOfCode(RFC_SECRET, code, { at: new Date((seconds + off) * 1000), lastStep: 0 }),
  );
  const step = seconds / 30;
  expect(found).toEqual([null, step, step, step, null]);
});

test('a code of the last step or an earlier one does not count again', () => {
  const at = new Date(1234567890_000);
  const step = 1234567890 / 30;
  expect(stepOfCode(RFC_SECRET, '005924', { at, lastStep: step })).toBeNull();
  expect(stepOfCode(RFC_SECRET, '005924', { at, lastStep: step - 1 })).toBe(step);
});

test.each(['', '00592', '0059245', 'abcdef', '٠٠٥٩٢٤', '005924\n'])('%j is no code', (typed) => {
  expect(stepOfCode(RFC_SECRET, typed, { at: new Date(1234567890_000), lastStep: 0 })).toBeNull();
});

test('an app that reads the URI makes the same codes', () => {
  const secret = generateTotpSecret();
  const uri = totpUri(secret, 'anna@example.com');
  expect(uri).toMatch(/^otpauth:\/\/totp\/Heliograph:anna%40example.com\?/);
  expect(Object.fromEntries(new URL(uri).searchParams)).toEqual({
    issuer: 'Heliograph',
    secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
  const app = new TOTP({ secret: Secret.fromBase32(secret) });
  const timestamp = 1_700_000_000_000;
  expect(stepOfCode(secret, app.generate({ timestamp }), { at: new Date(timestamp), lastStep: 0 })).toBe(56666666);
});
