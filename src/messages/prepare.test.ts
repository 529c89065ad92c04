import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { isSingleId, isUuid } from '../core/ids.ts';
import { prepare } from './prepare.ts';
import { contentHash, type Draft } from './read-send.ts';

const OPTED_OUT = '+393330000009';
const run = (more: Partial<Draft>, route: number | null = 1) =>
  prepare(
    actor(7),
    draft(more),
    freeOver(() => (route === null ? [] : [route, 8])),
    (_channel, number) => (number === OPTED_OUT ? 'opted_out' : null),
  );
const refusal = (more: Partial<Draft>, route: number | null = 1): string | null => {
  const result = run(more, route);
  return result.kind === 'refused' ? result.refusal : null;
};

test('a draft that passes becomes a message of the account with an id, its number in E.164 and its route', () => {
  const result = run({ destination: '00351912345678', clientId: 'c' }, 3);
  if (result.kind !== 'prepared') throw new Error('refused');
  expect(result.message).toMatchObject({ accountId: 7, clientId: 'c', destination: '+351912345678', connectionId: 3 });
  expect(result.connectionIds).toEqual([3, 8]);
  expect(isUuid(result.message.id)).toBe(true);
});

test('the id of a single send says so, and that of bulk does not', () => {
  const idOf = (priority: 0 | 1): string => {
    const result = run({ priority });
    return result.kind === 'prepared' ? result.message.id : '';
  };
  expect(isSingleId(idOf(0))).toBe(true);
  // One id in 256 looks like that of a single send.
  expect(Array.from({ length: 10 }, () => idOf(1)).every(isSingleId)).toBe(false);
});

test('a number that has opted out is refused, also in a simulation and however it is written', () => {
  expect(refusal({ destination: '00393330000009', simulation: true })).toBe('opted_out');
  expect(refusal({ destination: '+393330000008' })).toBeNull();
});

test('a route is looked up by the number in E.164 and the channel of the message', () => {
  const asked: unknown[] = [];
  const findRoute = (...question: unknown[]) => [asked.push(question)];
  prepare(actor(7), draft({ destination: '00393331234567' }), freeOver(findRoute), () => null);
  expect(asked).toEqual([
    ['SMS', '+393331234567', expect.objectContaining({ accountId: 7, sender: 'ACME', at: null })],
  ]);
});

test('messages share the traffic by their ids, but all parts of a text go the same way', () => {
  const keyOf = (more: Partial<Draft>): [key: string, id: string] => {
    let key = '';
    const tables = freeOver((_channel, _destination, traffic) => {
      key = traffic.key;
      return [1];
    });
    const result = prepare(actor(7), draft(more), tables, () => null);
    return [key, result.kind === 'prepared' ? result.message.id : ''];
  };
  for (const priority of [0, 1] as const) {
    const [key, id] = keyOf({ priority });
    expect(key).toBe(id);
  }
  const parts = [1, 2].map((part) => keyOf({ udh: Uint8Array.of(0, 3, 7, 2, part) })[0]);
  expect(parts).toEqual(['+351912345678', '+351912345678']);
});

test.each(['ACME', 'a', 'Acme Shop 1', '12345', '+351912345678', '1234567890123456', "O'Hara & Co"])(
  'the sender %j is allowed',
  (sender) => {
    expect(refusal({ sender })).toBeNull();
  },
);

test.each(['Twelve Chars', '12345678901234567', 'Ação', '@home', 'a\nb', ' ', '!?', '+', 'ACME\n', '１２３'])(
  'the sender %j is refused',
  (sender) => {
    expect(refusal({ sender })).toBe('bad_sender');
  },
);

describe('on RCS and WhatsApp', () => {
  const content = { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hello' } } } as const;
  const rich: Partial<Draft> = { channel: 'WHATSAPP', sender: '106540352242922', body: '', content };

  test('a message is one part with its content, routed by its sender', () => {
    const asked: unknown[] = [];
    const findRoute = (...question: unknown[]) => [asked.push(question)];
    const result = prepare(actor(7), draft({ ...rich, body: 'x'.repeat(5000) }), freeOver(findRoute), () => null);
    expect(result).toMatchObject({ kind: 'prepared', message: { channel: 'WHATSAPP', content, parts: 1 } });
    expect(asked).toEqual([['WHATSAPP', '+351912345678', expect.objectContaining({ sender: '106540352242922' })]]);
  });

  test('a sender that the account does not have is refused, in a simulation as well', () => {
    const maySend = (accountId: number, channel: string, sender: string): boolean =>
      accountId === 7 && channel === 'WHATSAPP' && sender === '106540352242922';
    const tables = { ...freeOver(() => [1]), maySend };
    const refused = (by: number, more: Partial<Draft>) =>
      prepare(actor(by), draft({ ...rich, simulation: true, ...more }), tables, () => null);
    expect(refused(7, {}).kind).toBe('prepared');
    expect(refused(7, { sender: '1' })).toEqual({ kind: 'refused', refusal: 'foreign_sender' });
    expect(refused(8, {})).toEqual({ kind: 'refused', refusal: 'foreign_sender' });
  });

  test.each<[string, string, Partial<Draft>]>([
    ['no_content', 'no content', { content: null }],
    ['no_content', 'the content of another channel', { channel: 'RCS' }],
    ['bad_body', 'a NUL anywhere in the content', { content: { ...content, message: { type: 'text', a: ['\0'] } } }],
    ['bad_body', 'a NUL in a name', { content: { ...content, message: { type: 'text', 'a\0': 1 } } }],
    ['bad_body', 'half a character', { content: { ...content, message: { type: 'text', a: { b: '\ud83d' } } } }],
    [
      'bad_body',
      'a NUL in a value of a template',
      { content: { channel: 'WHATSAPP', template: '1', values: { a: '\0' } } },
    ],
    ['opted_out', 'who wants none', { destination: OPTED_OUT }],
  ])('%s: %s', (reason, _, more) => {
    expect(refusal({ ...rich, ...more })).toBe(reason);
  });

  test('a message without a route is refused', () => {
    expect(refusal(rich, null)).toBe('no_route');
  });

  test('text that looks like an escaped NUL is text', () => {
    expect(refusal({ ...rich, content: { ...content, message: { type: 'text', a: '\\u0000' } } })).toBeNull();
  });

  test('a number is the same content with and without punctuation', () => {
    const plain = contentHash(draft({ ...rich, destination: '+393331234000' }));
    expect(contentHash(draft({ ...rich, destination: '+39 (333) 123-40.00' }))).toEqual(plain);
    expect(contentHash(draft({ ...rich, destination: '+39 333 123 4001' }))).not.toEqual(plain);
  });

  test('the same client id with other content is another message', () => {
    const other = { ...content, message: { type: 'text', text: { body: 'Bye' } } };
    expect(contentHash(draft(rich))).toEqual(contentHash(draft(rich)));
    expect(contentHash(draft(rich))).not.toEqual(contentHash(draft({ ...rich, content: other })));
  });
});

describe('texts', () => {
  test.each<[string, string, Partial<Draft>]>([
    ['empty_body', 'an empty text', { body: '' }],
    ['bad_body', 'a NUL, which the database cannot keep', { body: 'a\0b' }],
    ['body_too_long', 'eleven parts', { body: 'x'.repeat(1531) }],
    ['body_too_long', 'two parts where one is allowed', { body: 'x'.repeat(161), maxParts: 1 }],
    ['body_not_gsm', 'other characters where only GSM 03.38 is allowed', { body: '你好', gsmOnly: true }],
    [
      'binary_too_long',
      'more than 140 bytes',
      { body: '', binary: { udh: Buffer.alloc(40), data: Buffer.alloc(101) } },
    ],
  ])('%s: %s', (reason, _, more) => {
    expect(refusal(more)).toBe(reason);
  });

  test.each([
    ['x'.repeat(160), 1, false],
    ['x'.repeat(161), 2, false],
    ['€'.repeat(80), 1, false],
    ['€'.repeat(81), 2, false],
    ['x'.repeat(1530), 10, false],
    ['é'.repeat(160), 1, false],
    ['ê'.repeat(70), 1, true],
    ['ê'.repeat(71), 2, true],
    ['😀'.repeat(35), 1, true],
    ['😀'.repeat(36), 2, true],
  ])('a text is counted in parts as it will be sent (%#)', (body, parts, unicode) => {
    expect(run({ body })).toMatchObject({ unicode, message: { parts } });
  });

  test('smart replaces what UCS-2 is needed for, except in codes and to India; strict names the first such character', () => {
    const body = `${'x'.repeat(100)}’`;
    const smart = { body, encoding: 'smart' } as const;
    const india = '+919876543210';
    expect(run(smart)).toMatchObject({ unicode: false, message: { parts: 1, body: `${'x'.repeat(100)}'` } });
    for (const more of [{ ...smart, purpose: 'otp' }, { ...smart, destination: india }, { body }] as const)
      expect(run(more)).toMatchObject({ unicode: true, message: { parts: 2, body } });
    expect(run({ body, encoding: 'strict' })).toMatchObject({
      refusal: 'body_not_gsm',
      hint: expect.stringContaining('’ (U+2019) at position 101'),
    });
    expect(refusal({ body: 'é', encoding: 'strict' })).toBeNull();
  });

  test.each([
    ['x'.repeat(153), '050003010201', 'x'.repeat(154)],
    ['€'.repeat(76), '050003010201', '€'.repeat(77)],
    ['x'.repeat(152), '06080400010201', 'x'.repeat(153)],
    ['ê'.repeat(67), '050003010201', 'ê'.repeat(68)],
  ])('a text next to a header is one part as long as both fit (%#)', (body, hex, longer) => {
    const udh = Buffer.from(hex, 'hex');
    expect(run({ body, udh })).toMatchObject({ message: { parts: 1, udh, body, binaryBody: null } });
    expect(refusal({ body: longer, udh })).toBe('text_too_long_for_header');
  });

  test('up to 140 bytes with their header are one part', () => {
    const binary = { udh: Buffer.alloc(40), data: Buffer.alloc(100) };
    expect(run({ body: '', binary })).toMatchObject({
      message: { parts: 1, udh: binary.udh, binaryBody: binary.data },
    });
  });
});

test('the first step that refuses names the reason, and a simulated message needs no route', () => {
  expect(refusal({ destination: 'me', body: '' }, null)).toBe('not_a_number');
  expect(refusal({}, null)).toBe('no_route');
  expect(run({ simulation: true }, 5)).toMatchObject({ message: { connectionId: null } });
});

propertyTest.prop([
  fc.record({
    destination: fc.string({ unit: 'binary', maxLength: 30 }),
    sender: fc.string({ unit: 'binary', maxLength: 20 }),
    body: fc.string({ unit: 'binary', maxLength: 3000, size: 'max' }),
  }),
])('no input at all makes it throw', (input) => {
  expect(() => run(input)).not.toThrow();
});

describe('the hash of the content', () => {
  test('depends on the content alone', () => {
    const one = draft({ clientId: 'a', wantReceipt: true, priority: 0 });
    const same = draft({ clientId: 'b', wantReceipt: false, priority: 1 });
    expect(contentHash(one)).toEqual(contentHash(same));
  });

  propertyTest.prop([fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 })])(
    'does not run fields into each other',
    (sender, body, more) => {
      fc.pre(more !== '');
      const left = contentHash(draft({ sender: sender + more, body }));
      const right = contentHash(draft({ sender, body: more + body }));
      expect(left.equals(right)).toBe(false);
    },
  );
});
