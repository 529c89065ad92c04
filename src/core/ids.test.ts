import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import {
  firstIdAt,
  idFrom,
  isSingleId,
  isUuid,
  newId,
  newOrderedId,
  newSingleId,
  timeOfId,
  traceMarkOf,
} from './ids.ts';

/** An id has 48 bits of milliseconds: until the year 10889. */
const instants = fc.date({ min: new Date(0), max: new Date(2 ** 48 - 1), noInvalidDate: true });

test('an id contains the time at which it was created, to the millisecond', () => {
  const before = Date.now();
  const made = timeOfId(newId()).getTime();
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThanOrEqual(Date.now());
});

test('an id is a UUID of version 7, and no two are the same', () => {
  const ids = Array.from({ length: 10_000 }, newId);
  expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
});

test('ids for what people read in order are in order, however many there are in a millisecond', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, newOrderedId);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
  expect(timeOfId(ids[0] ?? '').getTime()).toBeGreaterThanOrEqual(before);
});

test('74 bits of an id are random, each for itself; the version and the variant are not', () => {
  const ids = Array.from({ length: 2000 }, () => BigInt(`0x${newId().replaceAll('-', '')}`));
  const bits = Array.from({ length: 80 }, (_, bit) => ids.map((id) => Number((id >> BigInt(bit)) & 1n)));
  const shareOf = (count: (n: number) => number): number => ids.reduce((sum, _, n) => sum + count(n), 0) / ids.length;
  const ones = bits.map((values) => shareOf((n) => values[n] ?? 0));
  expect([79, 78, 77, 76, 63, 62].map((bit) => ones[bit])).toEqual([0, 1, 1, 1, 1, 0]);
  const random = bits.filter((_, bit) => bit < 76 && bit !== 63 && bit !== 62);
  expect(random).toHaveLength(74);
  // Eight standard deviations: by chance once in 10^11 runs.
  const farFromHalf = (share: number): boolean => Math.abs(share - 0.5) > 0.0894;
  expect(random.filter((values) => farFromHalf(shareOf((n) => values[n] ?? 0)))).toEqual([]);
  const tied = random.flatMap((one, i) =>
    random.slice(i + 1).filter((other) => farFromHalf(shareOf((n) => (one[n] === other[n] ? 1 : 0)))),
  );
  expect(tied).toEqual([]);
});

test('the ids of messages that are sent alone are recognised, and few others', () => {
  const singles = Array.from({ length: 10_000 }, () => newSingleId());
  expect(singles.every((id) => isUuid(id) && id[14] === '7' && isSingleId(id))).toBe(true);
  expect(new Set(singles).size).toBe(singles.length);
  expect(Array.from({ length: 10_000 }, newId).filter(isSingleId).length).toBeLessThan(200);
});

test('the id of a single message carries what its caller decided about its trace, and nothing without a decision', () => {
  expect(traceMarkOf(newSingleId('follow'))).toBe('follow');
  expect(traceMarkOf(newSingleId('ignore'))).toBe('ignore');
  expect(Array.from({ length: 10_000 }, () => traceMarkOf(newSingleId())).filter((mark) => mark !== null)).toEqual([]);
});

test('an id lies between the bounds of its own millisecond and of the next', () => {
  for (const id of Array.from({ length: 1000 }, newId)) {
    const at = timeOfId(id);
    expect(firstIdAt(at) <= id).toBe(true);
    expect(id < firstIdAt(new Date(at.getTime() + 1))).toBe(true);
  }
});

propertyTest.prop([instants])('the lower bound of an instant is a UUID of that instant', (at) => {
  expect(isUuid(firstIdAt(at))).toBe(true);
  expect(timeOfId(firstIdAt(at))).toEqual(at);
});

test('the lower bound of an instant before 1970 is below all ids', () => {
  expect(firstIdAt(new Date(-1))).toBe('00000000-0000-0000-0000-000000000000');
});

propertyTest.prop([instants, instants])('bounds sort as text in the order of their instants', (one, other) => {
  expect(Math.sign(one.getTime() - other.getTime())).toBe(
    firstIdAt(one) < firstIdAt(other) ? -1 : Number(firstIdAt(one) > firstIdAt(other)),
  );
});

propertyTest.prop([fc.uuid()])(
  'every UUID is recognised, in either case, and not with a character more or less',
  (id) => {
    expect(isUuid(id)).toBe(true);
    expect(isUuid(id.toUpperCase())).toBe(true);
    expect([`${id}0`, ` ${id}`, id.slice(1), id.replace('-', ''), `${id}\n`].some(isUuid)).toBe(false);
  },
);

propertyTest.prop([fc.string(), fc.string()])(
  'an id from a name is a UUID of version 8 that another name does not have',
  (one, other) => {
    expect(isUuid(idFrom(one)) && idFrom(one)[14] === '8' && '89ab'.includes(idFrom(one).charAt(19))).toBe(true);
    expect(idFrom(one) === idFrom(other)).toBe(one === other);
  },
);
