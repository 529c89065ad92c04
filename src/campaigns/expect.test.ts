import { expect, test } from 'vitest';
import { bitOf } from '../core/channels.ts';
import type { AudienceRow } from './audience.ts';
import { daysFor, expectChannels } from './review.ts';

const [SMS, WHATSAPP] = [bitOf('SMS'), bitOf('WHATSAPP')];
const row = (more: Partial<AudienceRow>): AudienceRow => ({
  country: 'IT',
  code: '',
  parts: 1,
  channels: SMS | WHATSAPP,
  reason: null,
  numberless: false,
  count: 100,
  unitMicros: [50_000, 10_000],
  units: [1, more.parts ?? 1],
  shareMicros: [50_000, 0],
  refunds: [true, false],
  ...more,
});
const CHAIN = ['WHATSAPP', 'SMS'] as const;

test('the next channel is expected for the share that the one before does not deliver, and returned prices cost nothing', () => {
  expect(expectChannels([row({})], CHAIN, { WHATSAPP: 0.8, SMS: 0.9 })).toEqual([
    { channel: 'WHATSAPP', reachable: 100, first: 100, tried: 100, expectedMicros: 4_000_000, allMicros: 5_000_000 },
    { channel: 'SMS', reachable: 100, first: 0, tried: 20, expectedMicros: 200_000, allMicros: 1_000_000 },
  ]);
});

test('without a history every message is taken for delivered, and parts multiply the price of an SMS only', () => {
  expect(expectChannels([row({ parts: 3 })], CHAIN, {})).toEqual([
    { channel: 'WHATSAPP', reachable: 100, first: 100, tried: 100, expectedMicros: 5_000_000, allMicros: 5_000_000 },
    { channel: 'SMS', reachable: 100, first: 0, tried: 0, expectedMicros: 0, allMicros: 3_000_000 },
  ]);
});

test('people whom a channel does not reach begin with the next one, and those who are left out count nowhere', () => {
  const rows = [row({ count: 7, channels: SMS }), row({ count: 5, channels: 0, reason: 'opted_out' })];
  expect(expectChannels(rows, CHAIN, { WHATSAPP: 0.5 })).toMatchObject([
    { channel: 'WHATSAPP', reachable: 0, first: 0, tried: 0 },
    { channel: 'SMS', reachable: 7, first: 7, tried: 7 },
  ]);
});

test.each([
  ['all today', 900, { people: 1000, used: 0 }, 0],
  ['one more than nine tenths', 901, { people: 1000, used: 0 }, 1],
  ['less today, because some are used', 900, { people: 1000, used: 400 }, 1],
  ['nothing today', 1800, { people: 1000, used: 1000 }, 2],
])('within the messaging limit of a portfolio %s', (_, tried, limit, days) => {
  expect(daysFor(tried, limit)).toBe(days);
});
