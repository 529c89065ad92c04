import type { RecordedExample } from '../../../src/core/http/openapi.ts';
import { isRecord } from '../../../src/core/schema.ts';
import type { Played } from './play.ts';

/** The longest text that an example shows: of the metrics, for instance, only the first lines. */
const MAX_TEXT = 600;

/** Returns what the description shows of a request and its response, with made-up values instead of those that vary. */
export function record(
  { path, query, form, status, answer, refusal }: Played,
  normalise: (value: unknown) => unknown,
): RecordedExample {
  const parts = { path, query, form, answer: shortened(answer), refusal };
  const filled = Object.entries(parts).filter(([, part]) => part !== undefined && !(isRecord(part) && isEmpty(part)));
  return { ...Object(normalise(Object.fromEntries(filled))), status };
}

const isEmpty = (part: object): boolean => !Array.isArray(part) && Object.keys(part).length === 0;

const shortened = (answer: unknown): unknown =>
  typeof answer === 'string' && answer.length > MAX_TEXT
    ? `${answer.slice(0, answer.lastIndexOf('\n', MAX_TEXT))}\n…`
    : answer;

/**
 * Returns true if two responses have the same members, with values of the same types. Null and an empty list match
 * anything, because events that have not happened yet are shown so; of a list the first entry counts.
 */
export function sameShape(one: unknown, other: unknown): boolean {
  if (one === null || other === null) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other)) return false;
    return one.length === 0 || other.length === 0 || sameShape(one[0], other[0]);
  }
  if (!isRecord(one) || !isRecord(other)) return typeof one === typeof other;
  const names = Object.keys(one).toSorted();
  return (
    names.join() === Object.keys(other).toSorted().join() && names.every((name) => sameShape(one[name], other[name]))
  );
}
