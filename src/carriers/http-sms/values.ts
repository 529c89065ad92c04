import type { Submission } from '../carrier.ts';
import { countParts } from '../smpp/text.ts';
import type { Variable } from './check.ts';
import type { Request } from './protocol.ts';
import type { HttpSmsSecrets, Resolved } from './settings.ts';
import type { Value } from './template.ts';

/** The form of a number, unlike a name or a short code. */
const LONG_NUMBER = /^[1-9]\d{6,14}$/;

const withPlus = (sender: string): string => (LONG_NUMBER.test(sender) ? `+${sender}` : sender);
const withoutPlus = (number: string): string => number.replace(/^\+/, '');
const orNull = (text: string): string | null => (text === '' ? null : text);

/** The values that all messages of a connection share. */
export const sharedValues = ({ account }: Resolved, secrets: HttpSmsSecrets, callbackUrl: string | null) => ({
  account: account ?? null,
  apiKey: orNull(secrets.apiKey),
  signingKey: orNull(secrets.signingKey),
  callbackToken: secrets.callbackToken,
  callbackUrl,
});

/** Returns the value of each variable for one message at the time `now` in ms. */
export function valuesOf(
  shared: ReturnType<typeof sharedValues>,
  { gsm, ucs2, maxValiditySeconds = Number.POSITIVE_INFINITY }: Pick<Request, 'gsm' | 'ucs2' | 'maxValiditySeconds'>,
  submission: Submission,
  now: number,
): Readonly<Record<Variable, Value>> {
  const { messageId, destination, body, validUntil, wantReceipt } = submission;
  const sender = withoutPlus(submission.sender);
  const ownMs = validUntil === null ? null : Math.max(1000, validUntil.getTime() - now);
  const validityMs = ownMs === null ? null : Math.min(ownMs, maxValiditySeconds * 1000);
  // Counted on demand: few requests contain the slow ones.
  let counted: ReturnType<typeof countParts> | undefined;
  const count = () => (counted ??= countParts(body));
  return {
    ...shared,
    to: destination,
    toDigits: withoutPlus(destination),
    from: orNull(withPlus(sender)),
    fromPlain: orNull(sender),
    text: body,
    get parts() {
      return count().parts;
    },
    get encoding() {
      return count().alphabet === 'gsm7' ? gsm : ucs2;
    },
    messageId,
    wantReceipt,
    validityMs,
    validitySeconds: validityMs === null ? null : Math.ceil(validityMs / 1000),
    validityMinutes: validityMs === null ? null : Math.ceil(validityMs / 60_000),
    get validUntil() {
      return validityMs === null ? null : new Date(now + validityMs).toISOString();
    },
  };
}
