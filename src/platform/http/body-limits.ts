import { isRecord } from '../lib/is-record.ts';

/** Maximum number of values in a body, whatever its schema allows. */
const MAX_VALUES = 250_000;
/** Fields that no schema knows are ignored, so a body may have some. */
const EXTRA_VALUES = 1_500;
/** Maximum number of fields of an object with any names, unless its schema states one. */
const MAX_RECORD_FIELDS = 1_000;

const known = new WeakMap<object, number>();

/**
 * Returns the maximum number of values of a body with this schema, including objects and lists: the maximum that the
 * schema accepts, and 1,500 for fields that it does not know. At most 250,000; that also holds without a schema and for
 * lists without `maxItems`.
 */
export function maxValuesOf(schema: unknown): number {
  if (!isRecord(schema)) return MAX_VALUES;
  const limit = known.get(schema) ?? Math.min(mostValues(schema) + EXTRA_VALUES, MAX_VALUES);
  known.set(schema, limit);
  return limit;
}

/** The largest number of values that a schema accepts; infinite if it sets no limit. */
function mostValues(schema: unknown): number {
  if (!isRecord(schema)) return schema === true ? Number.POSITIVE_INFINITY : 1;
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches)) return Math.max(...branches.map(mostValues));
  // Any value, or a form that is not read here.
  if (!('type' in schema || 'const' in schema || 'enum' in schema)) return Number.POSITIVE_INFINITY;
  const { items, maxItems, properties, patternProperties, additionalProperties, maxProperties } = schema;
  if (items !== undefined) return 1 + numberOr(maxItems, Number.POSITIVE_INFINITY) * mostValues(items);
  const named = valuesOf(properties).reduce((sum: number, property) => sum + mostValues(property), 1);
  const others = [...valuesOf(patternProperties), additionalProperties ?? false].filter((other) => other !== false);
  if (others.length === 0) return named;
  return named + numberOr(maxProperties, MAX_RECORD_FIELDS) * Math.max(...others.map(mostValues));
}

const numberOr = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
const valuesOf = (value: unknown): unknown[] => (isRecord(value) ? Object.values(value) : []);
