import { expect, test } from 'vitest';
import { createRecentMessages, type NewMessage, newMessage } from './new-messages.ts';

const message = (id: string, body = 'Hello'): NewMessage =>
  newMessage({
    accountId: 1,
    id,
    channel: 'SMS',
    source: 'API',
    connectionId: 1,
    routeReason: null,
    sender: 'ACME',
    askedSender: null,
    destination: '+351912345678',
    body,
    priceCategory: null,
    purpose: null,
    clientData: null,
    priceMicros: 0,
    refundUndelivered: false,
    apiKeyId: null,
    userId: null,
  });

const idsOf = (messages: readonly NewMessage[] | null): string[] | null => messages && messages.map(({ id }) => id);

test('the messages of a chunk are returned once', () => {
  const recent = createRecentMessages();
  recent.put([message('a'), message('b')]);
  expect(idsOf(recent.take(['a', 'b']))).toEqual(['a', 'b']);
  expect(recent.take(['a', 'b'])).toBeNull();
  expect(recent.take([])).toBeNull();
});

test('a chunk may be claimed in pieces', () => {
  const recent = createRecentMessages();
  recent.put(['a', 'b', 'c', 'd'].map((id) => message(id)));
  expect(idsOf(recent.take(['a', 'b']))).toEqual(['a', 'b']);
  expect(idsOf(recent.take(['c']))).toEqual(['c']);
  expect(idsOf(recent.take(['d']))).toEqual(['d']);
});

test('a chunk with other messages than those that were put is read from the database', () => {
  const recent = createRecentMessages();
  recent.put([message('a'), message('b')]);
  expect(recent.take(['a', 'c'])).toBeNull();
  recent.put([message('a'), message('b')]);
  expect(recent.take(['a', 'b', 'c'])).toBeNull();
});

test('when it is full, the oldest stay, and room that they leave is used again', () => {
  const recent = createRecentMessages(3);
  recent.put([message('a'), message('b')]);
  recent.put([message('c'), message('d')]);
  expect(recent.take(['c', 'd'])).toBeNull();
  expect(idsOf(recent.take(['a', 'b']))).toEqual(['a', 'b']);
  recent.put([message('e'), message('f'), message('g')]);
  expect(idsOf(recent.take(['e', 'f', 'g']))).toEqual(['e', 'f', 'g']);
});

test('what another process has claimed makes room after half a minute', () => {
  let now = 0;
  const recent = createRecentMessages(2, () => now);
  recent.put([message('a'), message('b')]);
  now = 31_000;
  recent.put([message('c'), message('d')]);
  expect(idsOf(recent.take(['c', 'd']))).toEqual(['c', 'd']);
});

test('a message whose content has to be resolved is read from the database', () => {
  const recent = createRecentMessages();
  recent.put([message('a'), { ...message('b'), content: { channel: 'RCS', message: { text: 'Hello' } } }]);
  expect(recent.take(['a', 'b'])).toBeNull();
});

test.each(['a\0b', 'half a \ud83d pair'])('%j is read from the database, which stores another text', (body) => {
  const recent = createRecentMessages();
  recent.put([message('a', body)]);
  expect(recent.take(['a'])).toBeNull();
});
