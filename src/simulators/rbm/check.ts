/** Looks at one value of a request; the fault, or null when there is none. `at` is where the value stands. */
export type Check = (value: unknown, at: string) => string | null;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const anything: Check = () => null;

export const text =
  (longest: number): Check =>
  (value, at) => {
    if (typeof value !== 'string') return `Invalid value at '${at}' (TYPE_STRING)`;
    // Emoji count once.
    return value.length <= longest || Array.from(value).length <= longest
      ? null
      : `${at} is longer than ${longest} characters`;
  };

export const filled =
  (longest: number): Check =>
  (value, at) =>
    value === '' ? `${at} must not be empty` : text(longest)(value, at);

export const matching =
  (pattern: RegExp): Check =>
  (value, at) =>
    typeof value === 'string' && pattern.test(value) ? null : `Invalid value at '${at}'`;

export const oneOf = (...words: readonly string[]): Check => matching(new RegExp(`^(${words.join('|')})$`));

export const flag: Check = (value, at) => (typeof value === 'boolean' ? null : `Invalid value at '${at}' (TYPE_BOOL)`);

export const number =
  (least: number, most: number): Check =>
  (value, at) =>
    typeof value === 'number' && value >= least && value <= most ? null : `Invalid value at '${at}' (TYPE_DOUBLE)`;

export const url: Check = (value, at) => {
  const parsed = typeof value === 'string' && value.length <= 2048 ? URL.parse(value) : null;
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? null : `${at} is not a valid URL`;
};

export const instant: Check = (value, at) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value))
    ? null
    : `Invalid value at '${at}' (type.googleapis.com/google.protobuf.Timestamp)`;

export const list =
  (item: Check, least: number, most: number): Check =>
  (value, at) => {
    if (!Array.isArray(value)) return `Invalid value at '${at}' (repeated)`;
    if (value.length < least || value.length > most) return `${at} must have ${least} to ${most} items`;
    return firstOf(
      value.map((each: unknown, index) => [each, `${at}[${index}]`] as const),
      item,
    );
  };

function firstOf(places: readonly (readonly [unknown, string])[], check: Check): string | null {
  for (const [value, at] of places) {
    const fault = check(value, at);
    if (fault !== null) return fault;
  }
  return null;
}

export type Shape = {
  readonly fields: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
  /** Of these there must be exactly one … */
  readonly exactlyOne?: readonly string[];
  /** … of these at most one … */
  readonly atMostOne?: readonly string[];
  /** … and of these one or more. */
  readonly atLeastOne?: readonly string[];
};

/** An object that has no fields beside those of its shape, as Google's APIs want it. */
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
