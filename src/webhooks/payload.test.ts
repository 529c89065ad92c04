import { describe, expect, test } from 'vitest';
import type { Channel } from '../core/channels.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { bodyOf, type Facts, type Form, type SentFacts, sampleFacts, type WebhookEvent } from './events.ts';

const AT = new Date('2026-11-21T10:00:00.250Z');
const sent = (more: Partial<SentFacts> = {}): SentFacts => ({
  ...sampleFacts(AT),
  clientId: 'ref-1',
  destination: '+351912345678',
  submittedAt: null,
  ...more,
});
const delivery = (status: number, more: Partial<WebhookEvent> = {}): WebhookEvent => ({
  kind: 'DELIVERY',
  messageId: 'm1',
  status,
  at: AT,
  error: null,
  ...more,
});
const read = (form: Form, told: WebhookEvent, facts: Facts) => {
  const body = bodyOf(form, told, facts);
  return body === null ? null : JSON.parse(body);
};

test.each(['A', 'B'] as const)('in form %s no end is earlier than the submit, whatever the clocks say', (form) => {
  const submittedAt = new Date('2026-11-21T10:00:00.100Z');
  const at = (status: number, text: string) =>
    read(form, delivery(status, { at: new Date(text) }), sent({ submittedAt })).timestamp;
  expect(at(STATUS.ACCEPTED, '2026-11-21T10:00:00.200Z')).toBe(submittedAt.toISOString());
  expect(at(STATUS.ERROR, '2026-11-21T10:00:00.000Z')).toBe(submittedAt.toISOString());
  expect(at(STATUS.ERROR, '2026-11-21T10:00:00.150Z')).toBe('2026-11-21T10:00:00.150Z');
});

describe('form A', () => {
  test('has code and description of the status table', () => {
    expect(read('A', delivery(STATUS.UNDELIVERABLE), sent())).toEqual({
      eventType: 'DELIVERY',
      messageId: 'm1',
      customerMessageId: 'ref-1',
      destination: '+351912345678',
      statusCode: 6,
      description: 'undeliverable',
      channel: 'SMS',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
    const descriptions = STATUS_NAMES.map((name) => read('A', delivery(STATUS[name]), sent())?.description);
    expect(descriptions).toContain('general error');
    expect(descriptions).toContain('conversation closed');
  });

  test('leaves out what the client did not give', () => {
    expect(read('A', delivery(3), sent({ clientId: null }))).not.toHaveProperty('customerMessageId');
  });

  test('tells of READ and INBOUND', () => {
    expect(read('A', delivery(0, { kind: 'READ', status: null }), sent({ channel: 'RCS' }))).toEqual({
      eventType: 'READ',
      messageId: 'm1',
      destination: '+351912345678',
      channel: 'RCS',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
    const kind = { kind: 'received', channel: 'SMS', messageType: 'TEXT' } as const;
    const facts = { ...kind, source: '351912345678', destination: '4400', ownNumber: null, text: 'Olá' };
    expect(read('A', delivery(0, { kind: 'INBOUND', status: null }), facts)).toEqual({
      eventType: 'INBOUND',
      source: '+351912345678',
      destination: '4400',
      text: 'Olá',
      channel: 'SMS',
      messageType: 'TEXT',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
  });

  test.each([
    ['WHATSAPP', '100000000000001', '351900000001', '+351900000001'],
    ['WHATSAPP', '100000000000001', null, '100000000000001'],
    ['RCS', 'acme', null, 'acme'],
  ] as const)('names the number that a message by %s to %s came to: %s', (channel, destination, ownNumber, named) => {
    const facts = { kind: 'received', channel, messageType: 'TEXT', source: '351912345678', text: 'Hi' } as const;
    const event = delivery(0, { kind: 'INBOUND', status: null });
    expect(read('A', event, { ...facts, destination, ownNumber })).toMatchObject({ destination: named });
  });

  test.each<Channel>(['RCS', 'WHATSAPP'])('says nothing of %s being accepted, which reads UNKNOWN there', (channel) => {
    expect(read('A', delivery(STATUS.ACCEPTED), sent({ channel }))).toBeNull();
    expect(read('A', delivery(STATUS.DELIVERED), sent({ channel }))).toMatchObject({ channel });
  });
});

describe('form B', () => {
  test.each([
    [STATUS.ACCEPTED, 'SENT', null],
    [STATUS.DELIVERED, 'DELIVERED', null],
    [STATUS.EXPIRED, 'EXPIRED', null],
    [STATUS.UNDELIVERABLE, 'ERROR', 'absent subscriber'],
    [STATUS.CONVERSATION_CLOSED, 'ERROR', 'absent subscriber'],
  ])('writes status %i as %s', (status, word, error) => {
    expect(read('B', delivery(status, { error: 'absent subscriber' }), sent({ channel: 'WHATSAPP' }))).toEqual({
      messageId: 'm1',
      customerMessageId: 'ref-1',
      phoneNumber: '+351912345678',
      status: word,
      error,
      channel: 'whatsapp',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
  });

  test('names a failure of which nobody said anything, and has no READ and INBOUND', () => {
    expect(read('B', delivery(STATUS.ERROR), sent())).toMatchObject({ status: 'ERROR', error: 'general error' });
    expect(read('B', delivery(0, { kind: 'READ' }), sent())).toBeNull();
    const kind = { kind: 'received', channel: 'SMS', messageType: 'TEXT' } as const;
    const facts = { ...kind, source: '1', destination: '2', ownNumber: null, text: 'x' };
    expect(read('B', delivery(0, { kind: 'INBOUND' }), facts)).toBeNull();
  });
});

test('who asked for no notification is told nothing', () => {
  expect(read('A', delivery(3), sent({ wantReceipt: false }))).toBeNull();
  expect(read('B', delivery(3), sent({ wantReceipt: false }))).toBeNull();
});

test('no end is told to be before the submit, whatever the clock of the carrier says', () => {
  const submittedAt = new Date('2026-11-21T11:00:00Z');
  expect(read('A', delivery(3), sent({ submittedAt }))).toMatchObject({ timestamp: '2026-11-21T11:00:00.000Z' });
});
