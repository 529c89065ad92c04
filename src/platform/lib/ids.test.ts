import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { firstIdAt, isUuid, newId, timeOfId } from './ids.ts';

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
