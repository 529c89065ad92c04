/**
 * Validates one value of a request; returns the fault, or null when the value is valid. `at` is the path of the value.
 */
export type Check = (value: unknown, at: string) => string | null;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Accepts any value. */
export const anything: Check = () => null;

/** Accepts a string of at most `maxLength` characters. */
export const text =
  (maxLength: number): Check =>
  (value, at) => {
    if (typeof value !== 'string') return `Invalid value at '${at}' (TYPE_STRING)`;
    // An emoji counts as one character.
    return value.length <= maxLength || Array.from(value).length <= maxLength
      ? null
      : `${at} is longer than ${maxLength} characters`;
  };

/** Accepts a string of 1 to `maxLength` characters. */
export const nonEmptyText =
  (maxLength: number): Check =>
  (value, at) =>
    value === '' ? `${at} must not be empty` : text(maxLength)(value, at);

/** Accepts a string that matches the pattern. */
export const matching =
  (pattern: RegExp): Check =>
  (value, at) =>
    typeof value === 'string' && pattern.test(value) ? null : `Invalid value at '${at}'`;

/** Accepts one of the given strings. */
export const oneOf = (...values: readonly string[]): Check => matching(new RegExp(`^(${values.join('|')})$`));

/** Accepts a boolean. */
export const flag: Check = (value, at) => (typeof value === 'boolean' ? null : `Invalid value at '${at}' (TYPE_BOOL)`);

/** Accepts a number from `min` to `max`. */
export const number =
  (min: number, max: number): Check =>
  (value, at) =>
    typeof value === 'number' && value >= min && value <= max ? null : `Invalid value at '${at}' (TYPE_DOUBLE)`;

/** Accepts an http or https URL of at most 2,048 characters. */
export const url: Check = (value, at) => {
  const parsed = typeof value === 'string' && value.length <= 2048 ? URL.parse(value) : null;
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? null : `${at} is not a valid URL`;
};

/** Accepts an RFC 3339 instant. */
export const instant: Check = (value, at) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value))
    ? null
    : `Invalid value at '${at}' (type.googleapis.com/google.protobuf.Timestamp)`;

/** Accepts an array of `min` to `max` valid items. */
export const list =
  (item: Check, min: number, max: number): Check =>
  (value, at) => {
    if (!Array.isArray(value)) return `Invalid value at '${at}' (repeated)`;
    if (value.length < min || value.length > max) return `${at} must have ${min} to ${max} items`;
    return firstFault(
      value.map((each: unknown, index) => [each, `${at}[${index}]`] as const),
      item,
    );
  };

function firstFault(places: readonly (readonly [unknown, string])[], check: Check): string | null {
  for (const [value, at] of places) {
    const fault = check(value, at);
    if (fault !== null) return fault;
  }
  return null;
}

/** The fields of an object. */
export type Shape = {
  readonly fields: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
  /** Exactly one of these must be present. */
  readonly exactlyOne?: readonly string[];
  /** At most one of these may be present. */
  readonly atMostOne?: readonly string[];
  /** At least one of these must be present. */
  readonly atLeastOne?: readonly string[];
};

/** Accepts an object that has no fields other than those of its shape, like Google's APIs. */
export const object =
  (shape: Shape): Check =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return `Invalid value at '${at}' (TYPE_MESSAGE)`;
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
      const place = at === '' ? snake(name) : `${at}.${snake(name)}`;
      if (!check)
        return `Invalid JSON payload received. Unknown name "${name}"${at && ` at '${at}'`}: Cannot find field.`;
      const fault = check(member, place);
      if (fault !== null) return fault;
    }
    return faultOfPresence(shape, (name) => Object.hasOwn(value, name), at);
  };

function faultOfPresence(shape: Shape, has: (name: string) => boolean, at: string): string | null {
  const { required = [], exactlyOne, atMostOne = [], atLeastOne } = shape;
  const missing = required.find((name) => !has(name));
  if (missing !== undefined) return `${at}.${snake(missing)} is required`;
  const chosen = exactlyOne?.filter(has).length ?? 1;
  if (chosen !== 1) return `${at} must have exactly one of ${(exactlyOne ?? []).join(', ')}`;
  if (atMostOne.filter(has).length > 1) return `${at} may have only one of ${atMostOne.join(', ')}`;
  return atLeastOne && !atLeastOne.some(has) ? `${at} must have at least one of ${atLeastOne.join(', ')}` : null;
}
