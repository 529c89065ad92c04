import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { submission } from '../../../test/support/carriers/smpp-harness.ts';
import type { Submission } from '../carrier.ts';
import { createSubmissionEncoder, encodeSubmission } from './encode.ts';
import { parseSmppSettings } from './settings.ts';

const udh = Uint8Array.of(5, 0, 3, 0x5c, 2, 1);
/** Few different values, so that the same ones often follow each other; some cannot be encoded. */
const submissions: fc.Arbitrary<Submission> = fc
  .record({
    destination: fc.constantFrom('+351912345678', '+3519', '+1234567890123456789', '+12345678901234567890123', '+Ω'),
    sender: fc.constantFrom('ACME', '12345', '+351911111111', '', 'Ωmega'),
    body: fc.constantFrom('Hello', 'Hello €', 'Olá 😀', 'x'.repeat(200), ''),
    validUntil: fc.constantFrom(null, new Date('2026-12-31T23:59:00Z'), new Date('2027-01-01T00:00:00Z')),
    wantReceipt: fc.boolean(),
    header: fc.constantFrom('none', 'none', 'none', 'udh', 'binary'),
  })
  .map(({ header, ...fields }) => {
    if (header === 'udh') return submission({ ...fields, udh });
    return submission(header === 'binary' ? { ...fields, binary: { udh, data: Uint8Array.of(1) } } : fields);
  });
const settings = fc
  .record({
    longMode: fc.constantFrom('udh8', 'udh16', 'sar', 'payload'),
    validity: fc.constantFrom('absolute', 'empty'),
    plusPrefix: fc.boolean(),
    serviceType: fc.constantFrom('', 'CMT'),
  })
  .map((more) => parseSmppSettings({ host: 'h', systemId: 's', ...more }));

const inHex = (encode: () => readonly Buffer[]): readonly string[] | string => {
  try {
    return encode().map((frame) => frame.toString('hex'));
  } catch (error) {
    return String(error);
  }
};

propertyTest.prop([settings, fc.array(submissions, { maxLength: 30, size: 'max' })])(
  'each message of a sequence has the frames, or the error, that it has alone',
  (given, sequence) => {
    const encode = createSubmissionEncoder(given, () => 7);
    expect(sequence.map((each) => inHex(() => encode(each)))).toEqual(
      sequence.map((each) => inHex(() => encodeSubmission(each, given, () => 7))),
    );
  },
);

test('a frame may be changed without an effect on the next one', () => {
  const given = parseSmppSettings({ host: 'h', systemId: 's' });
  const encode = createSubmissionEncoder(given, () => 7);
  const alone = inHex(() => encodeSubmission(submission({}), given, () => 7));
  for (let i = 0; i < 3; i++) {
    const frames = encode(submission({}));
    expect(inHex(() => frames)).toEqual(alone);
    for (const frame of frames) frame.fill(0xff);
  }
});
