import { expect, test } from 'vitest';
import { isUuid, newId, timeOfId } from '../core/ids.ts';
import { eventIdOf } from './events.ts';

test('the ids of a row are UUIDs of its time, all different, and the same whenever they are made', () => {
  const seed = newId();
  const ids = Array.from({ length: 500 }, (_, place) => eventIdOf(seed, place));
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(500);
  expect(ids.map((id) => timeOfId(id).getTime())).toEqual(Array(500).fill(timeOfId(seed).getTime()));
  expect(eventIdOf(seed, 499)).toBe(ids[499]);
  expect(eventIdOf(seed, 0)).toBe(seed);
});
