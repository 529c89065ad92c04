import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import type { Channel } from '../core/channels.ts';
import { isUuid, newId, timeOfId } from '../core/ids.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { EVENT_TYPES, envelope, exampleOf } from './event-types.ts';
import { bodyOf, EVENTS, eventIdOf, type Facts, type Form, type WebhookEvent } from './events.ts';

const [EVENT, SENT] = EVENTS.DELIVERY.example;
const sent = (more: Partial<Facts> = {}): Facts => ({ ...SENT, submittedAt: null, ...more });
const received = (more: Partial<Facts> = {}): Facts => ({ ...EVENTS.INBOUND.example[1], ...more });
const AT = new Date('2026-11-21T10:00:00.250Z');
const delivery = (status: number, more: Partial<WebhookEvent> = {}): WebhookEvent => ({
  ...EVENT,
  kind: 'DELIVERY',
  messageId: 'm1',
  status,
  at: AT,
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
      customerMessageId: 'webhook-test',
      destination: '+15005550006',
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

  test('tells of READ', () => {
    expect(read('A', delivery(0, { kind: 'READ', status: null }), sent({ channel: 'RCS' }))).toEqual({
      eventType: 'READ',
      messageId: 'm1',
      destination: '+15005550006',
      channel: 'RCS',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
  });

  test.each([
    ['WHATSAPP', '100000000000001', '351900000001', '+351900000001'],
    ['WHATSAPP', '100000000000001', null, '100000000000001'],
    ['RCS', 'acme', null, 'acme'],
  ] as const)('names the number that a message by %s to %s came to: %s', (channel, destination, ownNumber, named) => {
    const event = delivery(0, { kind: 'INBOUND', status: null });
    expect(read('A', event, received({ channel, destination, ownNumber }))).toMatchObject({ destination: named });
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
      customerMessageId: 'webhook-test',
      phoneNumber: '+15005550006',
      status: word,
      error,
      channel: 'whatsapp',
      timestamp: '2026-11-21T10:00:00.250Z',
    });
  });

  test('names a failure of which nobody said anything, and has no READ and INBOUND', () => {
    expect(read('B', delivery(STATUS.ERROR), sent())).toMatchObject({ status: 'ERROR', error: 'general error' });
    expect(read('B', delivery(0, { kind: 'READ' }), sent())).toBeNull();
    expect(read('B', delivery(0, { kind: 'INBOUND' }), received())).toBeNull();
  });
});

test('the ids of a row are UUIDs of its time, all different, and the same whenever they are made', () => {
  const seed = newId();
  const ids = Array.from({ length: 500 }, (_, place) => eventIdOf(seed, place));
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(500);
  expect(ids.map((id) => timeOfId(id).getTime())).toEqual(Array(500).fill(timeOfId(seed).getTime()));
  expect(eventIdOf(seed, 499)).toBe(ids[499]);
  expect(eventIdOf(seed, 0)).toBe(seed);
});

test.each(Object.entries(EVENTS))(
  'docs/api.md has a row for %s, with its fields in their order',
  async (kind, type) => {
    const [, ...fields] = Object.keys(type.A.schema.properties).map((name) => `\`${name}\``);
    expect(await readFile('docs/api.md', 'utf8')).toContain(`| \`${kind}\` | ${type.summary} | ${fields.join(', ')} |`);
  },
);

test.each(Object.entries(EVENT_TYPES))('the example of %s fits its schema', (type, { data }) => {
  expect(Value.Errors(envelope(type, data), exampleOf(type))).toEqual([]);
});
