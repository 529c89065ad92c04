import { fc } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { type ReadCallback, readRcsCallback, signatureOf } from './callbacks.ts';

const clientToken = 'SJENCPGJESMGUFPY';

function envelope(event: unknown, token = clientToken): { rawBody: Buffer; signature: string } {
  const data = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event));
  const message = { data: data.toString('base64'), messageId: '1', publishTime: '2026-01-05T10:00:00.123Z' };
  return { rawBody: Buffer.from(JSON.stringify({ message })), signature: signatureOf(data, token) };
}

const read = (event: unknown): ReadCallback => readRcsCallback({ ...envelope(event), clientToken });
const readBody = (body: unknown, signature?: string): ReadCallback =>
  readRcsCallback({ rawBody: Buffer.from(JSON.stringify(body)), signature, clientToken });

const NOTHING = { kind: 'events', receipts: [], inbounds: [], subscriptions: [], launches: [], other: [] };
const person = {
  senderPhoneNumber: '+351912345678',
  agentId: 'x@rbm.goog',
  sendTime: '2026-01-05T10:00:00.123456789Z',
};
const at = new Date('2026-01-05T10:00:00.123Z');

describe('the handshake', () => {
  test('gets only the secret', () => {
    expect(readBody({ clientToken, secret: '1234567890' })).toEqual({ kind: 'handshake', text: '1234567890' });
  });

  test('with another token is forged', () => {
    expect(readBody({ clientToken: 'other', secret: '1234567890' })).toEqual({ kind: 'forged' });
  });
});

describe('the signature', () => {
  test('is the base64 of the HMAC-SHA512 of the decoded data', () => {
    // Computed by: printf '{}' | openssl dgst -sha512 -hmac SJENCPGJESMGUFPY -binary | base64 -w0
    expect(signatureOf(Buffer.from('{}'), clientToken)).toBe(
      'Svu7MJkNA3pGm5Kpx86ZvbWiDx1RgGWHUuhLMS9ia0DWjKGFoRzUbIEp0Kja2B3MMf6i1xcGoEaXexiZsJO2Ag==',
    );
  });

  test('by another token, or none, is forged', () => {
    const { rawBody, signature } = envelope({ ...person, text: 'Hi' }, 'another-token');
    expect(readRcsCallback({ rawBody, signature, clientToken })).toEqual({ kind: 'forged' });
    expect(readRcsCallback({ rawBody, signature: undefined, clientToken })).toEqual({ kind: 'forged' });
  });

  test('of another event is forged', () => {
    const { rawBody } = envelope({ ...person, text: 'Hi' });
    const { signature } = envelope({ ...person, text: 'Ho' });
    expect(readRcsCallback({ rawBody, signature, clientToken })).toEqual({ kind: 'forged' });
  });
});

test.each([{}, [], null, 'text', { message: {} }, { message: { data: 1 } }])('%o is malformed', (body) => {
  expect(readBody(body, 'any')).toEqual({ kind: 'malformed' });
});

describe('message events', () => {
  const ours = '018f0000-0000-7000-8000-000000000001';
  test.each([
    ['DELIVERED', 'DELIVERED', null],
    ['READ', 'READ', null],
  ])('%s is a receipt', (eventType, state, errorCode) => {
    const event = { ...person, eventType, eventId: 'e', messageId: ours };
    const receipt = {
      carrierIds: [ours],
      state,
      doneAt: at,
      errorCode,
      destination: '351912345678',
      sender: 'x@rbm.goog',
    };
    expect(read(event)).toEqual({ ...NOTHING, receipts: [{ ...receipt, raw: JSON.stringify(event) }] });
  });

  test('the expiry of a revoked message is a receipt too', () => {
    const event = {
      phoneNumber: '+351912345678',
      agentId: 'x@rbm.goog',
      messageId: ours,
      eventType: 'TTL_EXPIRATION_REVOKED',
    };
    const receipt = { carrierIds: [ours], state: 'EXPIRED', destination: '351912345678', doneAt: null };
    expect(read(event)).toMatchObject({ receipts: [receipt] });
  });

  test('a failed revocation is not a receipt: the message may still arrive', () => {
    const event = {
      phoneNumber: '+351912345678',
      agentId: 'a',
      messageId: ours,
      eventType: 'TTL_EXPIRATION_REVOKE_FAILED',
    };
    expect(read(event)).toEqual({ ...NOTHING, other: [{ eventType: 'TTL_EXPIRATION_REVOKE_FAILED', agentId: 'a' }] });
  });

  test('typing is not a receipt', () => {
    expect(read({ ...person, eventType: 'IS_TYPING', eventId: 'e' })).toMatchObject({ receipts: [], inbounds: [] });
  });
});

describe('messages from a person', () => {
  test.each([
    [{ text: 'Olá' }, 'TEXT', 'Olá'],
    [
      { suggestionResponse: { postbackData: 'ok_1', text: 'OK', type: 'REPLY' } },
      'BUTTON',
      'OK',
      { button: { text: 'OK', payload: 'ok_1' } },
    ],
    [{ suggestionResponse: { postbackData: 'ok_1' } }, 'BUTTON', 'ok_1', { button: { text: '', payload: 'ok_1' } }],
    [
      { location: { latitude: 38.7, longitude: -9.1 } },
      'LOCATION',
      '38.7,-9.1',
      { location: { latitude: 38.7, longitude: -9.1, name: '', address: '', url: '' } },
    ],
    [
      { location: { latitude: 38.7 } },
      'LOCATION',
      '38.7,0',
      { location: { latitude: 38.7, longitude: 0, name: '', address: '', url: '' } },
    ],
  ])('%o becomes an inbound message', (substance, messageType, text, content?: object) => {
    const event = { ...person, messageId: 'm1', ...substance };
    const own = { profileName: null, ownNumber: null, media: null, ...(content && { content }) };
    const rich = { channel: 'RCS', id: 'm1', messageType, at, ...own };
    const raw = Buffer.from(JSON.stringify(event));
    const inbound = { source: '351912345678', destination: 'x@rbm.goog', text, concat: null, raw, rich };
    expect(read(event)).toEqual({ ...NOTHING, inbounds: [inbound] });
  });

  test.each([
    ['image/jpeg', 'IMAGE'],
    ['video/mp4', 'VIDEO'],
    ['audio/ogg', 'AUDIO'],
    ['application/pdf', 'DOCUMENT'],
  ])('a file of %s is %s, with its URL', (mimeType, messageType) => {
    const payload = { mimeType, fileSizeBytes: 3, fileUri: 'https://files.example/1', fileName: 'a' };
    const media = { id: null, url: 'https://files.example/1', mimeType, fileName: 'a' };
    const event = { ...person, messageId: 'm1', userFile: { payload } };
    expect(read(event)).toMatchObject({ inbounds: [{ text: '', rich: { messageType, media } }] });
  });

  test.each([
    ['UNSUBSCRIBE', false],
    ['SUBSCRIBE', true],
  ])('%s is a change of the subscription', (eventType, subscribed) => {
    const subscription = { agentId: 'x@rbm.goog', phoneNumber: '351912345678', subscribed, at };
    expect(read({ ...person, eventType, eventId: 'e' })).toEqual({ ...NOTHING, subscriptions: [subscription] });
  });
});

test('a launch change has its region and state', () => {
  const event = { agentId: 'a', regionId: '/v1/regions/pt', oldLaunchState: 'PENDING', newLaunchState: 'LAUNCHED' };
  const launch = { agentId: 'a', regionId: '/v1/regions/pt', state: 'LAUNCHED', comment: '' };
  expect(read(event)).toEqual({ ...NOTHING, launches: [launch] });
});

test('a signed but unreadable event is accepted, so that it is not repeated for a week', () => {
  expect(read('no JSON')).toEqual({ ...NOTHING, other: [{ eventType: 'UNREADABLE', agentId: '' }] });
});

const words = fc.constantFrom('text', 'eventType', 'messageId', 'senderPhoneNumber', 'agentId', 'location', 'userFile');
const values = fc.oneof(
  fc.json().map((text): unknown => JSON.parse(text)),
  fc.constantFrom('DELIVERED', 'READ', 'UNSUBSCRIBE', '+351912345678', '2026-01-05T10:00:00Z', '\0\ud800'),
);

test('any signed event is read without an error as exactly one event', () => {
  fc.assert(
    fc.property(fc.dictionary(words, values), (event) => {
      const found = read(event);
      if (found.kind !== 'events') throw new Error(found.kind);
      const { kind: _, ...lists } = found;
      expect(Object.values(lists).flat()).toHaveLength(1);
      for (const { source, rich } of found.inbounds)
        expect([/^\d+$/.test(source), rich?.id === '']).toEqual([true, false]);
    }),
  );
});

test('an unsigned event is never read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (rawBody, signature) => {
      expect(readRcsCallback({ rawBody, signature, clientToken }).kind).toMatch(/^(forged|malformed)$/);
    }),
  );
});
