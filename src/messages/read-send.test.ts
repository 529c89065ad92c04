import { describe, expect, test } from 'vitest';
import { draft } from '../../test/support/drafts.ts';
import { expectLinear } from '../../test/support/linear.ts';
import { readBulk, readMessageServer, readSend, withValues } from './read-send.ts';

const NOW = new Date('2026-11-21T10:00:00Z');
const plain = { sender: '', body: 'Hello' } as const;

describe('the specification’s body', () => {
  test('asks for a receipt and is sent at once, as a single send', () => {
    expect(readSend({ phoneNumber: '+351912345678', message: 'Hello' }, NOW)).toEqual(draft(plain));
  });

  test('sets sender, id and simulation', () => {
    const body = { phoneNumber: '1', message: 'x', senderName: 'ACME', customerMessageId: 'c', simulation: true };
    expect(readSend(body, NOW)).toMatchObject({ sender: 'ACME', clientId: 'c', simulation: true });
  });

  test('takes the options of the other body, so that nothing meant for later is sent at once', () => {
    const options = { scheduledDate: '2027-01-31T08:00:00Z', validityPeriod: 30, placeholders: { name: 'Anna' } };
    expect(readSend({ phoneNumber: '1', message: 'Hi {{name}}', ...options }, NOW)).toMatchObject({
      body: 'Hi {{name}}',
      values: { name: 'Anna' },
      scheduledAt: new Date('2027-01-31T08:00:00Z'),
      validUntil: new Date('2027-01-31T08:30:00Z'),
    });
    expect(() => readSend({ phoneNumber: '1', message: 'x', scheduledDate: 'tomorrow' }, NOW)).toThrow(/scheduledDate/);
  });
});

describe('the message server’s body', () => {
  const body = { destination: '+351912345678', sender: 'ACME', body: 'Hello' };

  test('reads as the same draft', () => {
    expect(readMessageServer(body, NOW)).toEqual(draft());
  });

  test('sets validity, schedule and id, and can do without a receipt', () => {
    const full = {
      ...body,
      messageId: 'c',
      validityPeriod: 30,
      scheduledDate: '2027-01-31 09:00:00.000+0100',
      enableNotification: false,
    };
    expect(readMessageServer(full, NOW)).toMatchObject({
      clientId: 'c',
      // Relative to the scheduled time.
      validUntil: new Date('2027-01-31T08:30:00Z'),
      scheduledAt: new Date('2027-01-31T08:00:00Z'),
      wantReceipt: false,
    });
  });

  test('fills in placeholders once: a value that looks like a placeholder is sent as it is, an unknown one stays', () => {
    const filled = readMessageServer(
      {
        ...body,
        body: '{{name}}, {{ name }}: {{code}} {{none}} {{toString}} {{}}',
        placeholders: { name: '{{code}}', code: '$&1' },
      },
      NOW,
    );
    expect(withValues(filled.body, filled)).toBe('{{code}}, {{code}}: $&1 {{none}} {{toString}} {{}}');
  });

  test('a name that no placeholder can have is refused', () => {
    const placeholders = { ['x'.repeat(65)]: 'y' };
    expect(() => readMessageServer({ ...body, placeholders }, NOW)).toThrow(
      expect.objectContaining({ code: 'invalid', details: [expect.objectContaining({ field: 'placeholders' })] }),
    );
  });

  test('an open placeholder with nothing but blanks takes time in proportion to its length', async () => {
    await expectLinear(
      (size) => ({ ...body, body: `{{${' '.repeat(size)}` }),
      (hostile) => readMessageServer(hostile, NOW),
    );
  });

  test('with a header stays a text', () => {
    const read = readMessageServer({ ...body, body: 'Olá', udhData: '0500035c0201' }, NOW);
    expect(read).toMatchObject({ body: 'Olá', binary: null, udh: Buffer.from('0500035c0201', 'hex') });
  });

  test('takes the client id under either name, and refuses two that differ', () => {
    expect(readMessageServer({ ...body, messageId: 'a' }, NOW).clientId).toBe('a');
    expect(readMessageServer({ ...body, customerMessageId: 'a', messageId: 'a' }, NOW).clientId).toBe('a');
    expect(() => readMessageServer({ ...body, customerMessageId: 'a', messageId: 'b' }, NOW)).toThrow(
      expect.objectContaining({ code: 'invalid', details: [expect.objectContaining({ field: 'messageId' })] }),
    );
  });

  test.each([['2026-11-21 10:00:00.000+0000'], ['2020-01-01T00:00:00Z'], ['soon'], ['2027-02-30 09:00:00Z']])(
    'the schedule %j is refused with its field',
    (scheduledDate) => {
      expect(() => readMessageServer({ ...body, scheduledDate }, NOW)).toThrow(
        expect.objectContaining({ code: 'invalid', details: [expect.objectContaining({ field: 'scheduledDate' })] }),
      );
    },
  );
});

describe('the bulk body', () => {
  const message = { destinations: ['+351912345678', '+393331234567'], sender: 'ACME', body: 'Hello' };

  test('is one bulk draft for each destination, in order, each with its own id', () => {
    const drafts = readBulk(
      {
        messages: [
          { ...message, ids: ['a', 'b'] },
          { ...message, body: 'Bye' },
        ],
      },
      NOW,
    );
    expect(drafts.map((d) => [d.destination, d.clientId, d.body, d.priority])).toEqual([
      ['+351912345678', 'a', 'Hello', 1],
      ['+393331234567', 'b', 'Hello', 1],
      ['+351912345678', null, 'Bye', 1],
      ['+393331234567', null, 'Bye', 1],
    ]);
  });

  test('of one destination has its id under the name of the other bodies, too', () => {
    const one = { ...message, destinations: ['+351912345678'], customerMessageId: 'c' };
    expect(readBulk({ messages: [one] }, NOW).map(({ clientId }) => clientId)).toEqual(['c']);
  });

  test('applies its options to all messages', () => {
    const options = { simulation: true, enableDelivery: false, enableConcatenated: false, enableUnicode: false };
    const [first] = readBulk({ ...options, messages: [message] }, NOW);
    expect(first).toMatchObject({ simulation: true, wantReceipt: false, maxParts: 1, gsmOnly: true });
    const [free] = readBulk({ messages: [message] }, NOW);
    expect(free).toMatchObject({ simulation: false, wantReceipt: true, maxParts: undefined, gsmOnly: false });
  });

  test('keeps a header next to the text, and the validity from the time of sending on', () => {
    const scheduling = '2027-01-31 09:00:00.000+0000';
    const [first] = readBulk(
      { messages: [{ ...message, udhData: '050003010201', validityPeriod: 5, scheduling }] },
      NOW,
    );
    expect(first).toMatchObject({
      body: 'Hello',
      udh: Buffer.of(5, 0, 3, 1, 2, 1),
      validUntil: new Date('2027-01-31T09:05:00Z'),
    });
  });

  test('sends bytes instead of the text', () => {
    const [first] = readBulk(
      { messages: [{ destinations: ['+351912345678'], sender: 'ACME', hexBody: '00ff', udhData: '027000' }] },
      NOW,
    );
    expect(first).toMatchObject({ body: '', binary: { udh: Buffer.of(2, 0x70, 0), data: Buffer.of(0, 255) } });
  });

  test('names every fault with its place', () => {
    const bulk = {
      messages: [
        { ...message, ids: ['only one'] },
        { destinations: ['1'], sender: 'x' },
        { ...message, scheduling: 'soon' },
        { ...message, hexBody: '00' },
        { ...message, udhData: '0300' },
        { ...message, customerMessageId: 'one for two numbers' },
        { destinations: ['+351912345678'], sender: 'x', body: 'x', ids: ['a'], customerMessageId: 'b' },
      ],
    };
    const fields = [
      'messages[0].ids',
      'messages[1].body',
      'messages[2].scheduling',
      'messages[3].hexBody',
      'messages[4].udhData',
      'messages[5].customerMessageId',
      'messages[6].customerMessageId',
    ];
    expect(() => readBulk(bulk, NOW)).toThrow(
      expect.objectContaining({ code: 'invalid', details: fields.map((field) => expect.objectContaining({ field })) }),
    );
  });
});
