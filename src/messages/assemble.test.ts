import { expect, test } from 'vitest';
import { assemble } from './inbound.ts';
import type { Part } from './inbound-store.ts';

let nextId = 1;
const part = (seq: number, more: Partial<Part> = {}): Part => {
  const text = more.text ?? `text ${seq}`;
  return {
    id: nextId++,
    connectionId: 1,
    source: '39333',
    destination: '4400',
    ref: 7,
    total: 3,
    seq,
    text,
    octets: Buffer.from(text),
    receivedAt: new Date(),
    overdue: false,
    ...more,
  };
};
/** The places of the parts of each message. */
const places = (parts: readonly Part[]): number[][] => assemble(parts).messages.map((m) => m.map((p) => p.seq));

test.each([[[1, 2, 3]], [[3, 2, 1]], [[2, 3, 1]]])('parts that come as %j are read in order', (order) => {
  expect(places(order.map((seq) => part(seq)))).toEqual([[1, 2, 3]]);
});

test('a message waits for its last part, and its parts stay', () => {
  expect(assemble([part(1), part(3)])).toEqual({ messages: [], spentIds: [] });
});

test('a part that arrives twice counts once and is deleted', () => {
  const [first, again] = [part(1), part(1)];
  expect(assemble([first, again])).toEqual({ messages: [], spentIds: [again.id] });
  const parts = [first, again, part(3), part(2)];
  expect(places(parts)).toEqual([[1, 2, 3]]);
  expect(new Set(assemble(parts).spentIds)).toEqual(new Set(parts.map((p) => p.id)));
});

test.each<[string, Partial<Part>]>([
  ['sender', { source: '39334' }],
  ['number', { destination: '4401' }],
  ['reference', { ref: 8 }],
  ['total', { total: 4 }],
  ['connection', { connectionId: 2 }],
])('parts of another %s are another message', (_, other) => {
  expect(places([part(1), part(2), part(3, other)])).toEqual([]);
  expect(places([part(1), part(2), part(3, other), part(3)])).toEqual([[1, 2, 3]]);
});

test('a part with another text begins the next message, and ends the unfinished one', () => {
  const next = [1, 2, 3].map((seq) => part(seq, { text: `next ${seq}` }));
  const { messages } = assemble([part(1), part(3), ...next]);
  expect(messages.map((m) => m.map((p) => p.text))).toEqual([
    ['text 1', 'text 3'],
    ['next 1', 'next 2', 'next 3'],
  ]);
});

test('an incomplete message with an overdue part ends as it is', () => {
  expect(places([part(3), part(1, { overdue: true })])).toEqual([[1, 3]]);
});

test('a message that an overdue part completes is complete', () => {
  expect(places([part(1, { overdue: true }), part(2), part(3)])).toEqual([[1, 2, 3]]);
});
