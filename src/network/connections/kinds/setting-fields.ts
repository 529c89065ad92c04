import type { Static, TObject } from 'typebox';

const GROUPS = ['access', 'main', 'more'] as const;

/** A setting of a kind, for forms, the command line and docs/carriers.md. */
export type SettingField = {
  readonly name: string;
  /** `choice`: one of `options`; `list`: several texts; `object`: a JSON object, which forms omit. */
  readonly type: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'object';
  /** `access`: needed to connect; `main`: agreed with most carriers; `more`: needed by few. */
  readonly group: (typeof GROUPS)[number];
  /** One or two full sentences; `` `x` `` names another setting or a value. */
  readonly description: string;
  readonly required: boolean;
  /** The value if omitted; null when there is none. */
  readonly default: unknown;
  /** The values of a `choice`; empty otherwise. */
  readonly options: readonly (string | number)[];
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Limit in characters. */
  readonly maxLength: number | null;
};

type Groups<Schema extends TObject> = {
  readonly access?: readonly (keyof Static<Schema> & string)[];
  readonly main?: readonly (keyof Static<Schema> & string)[];
};

/**
 * Lists the settings of a schema by group: those of `access` and `main` in the given order, which also get separate
 * options on the command line, then the others. A required setting without a default is always in `access`.
 */
export function settingFields<Schema extends TObject>(
  schema: Schema,
  { access = [], main = [] }: Groups<Schema>,
): SettingField[] {
  const { properties, required = [] }: JsonSchema = JSON.parse(JSON.stringify(schema));
  const groupOf = (name: string, isRequired: boolean): SettingField['group'] => {
    if (main.some((each) => each === name)) return 'main';
    return isRequired || access.some((each) => each === name) ? 'access' : 'more';
  };
  const names = new Set<string>([...access, ...main, ...Object.keys(properties ?? {})]);
  const fields = [...names].map((name) => {
    const property = properties?.[name] ?? {};
    const isRequired = required.includes(name) && property.default === undefined;
    return toField(name, property, { group: groupOf(name, isRequired), required: isRequired });
  });
  return GROUPS.flatMap((group) => fields.filter((field) => field.group === group));
}

/** A schema of TypeBox as JSON. */
type JsonSchema = {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

const toField = (name: string, schema: JsonSchema, place: Pick<SettingField, 'group' | 'required'>): SettingField => ({
  name,
  type: typeOf(schema),
  ...place,
  description: schema.description ?? '',
  default: defaultOf(schema),
  options: schema.enum ?? [],
  minimum: schema.minimum ?? null,
  maximum: schema.maximum ?? null,
  maxLength: schema.maxLength ?? null,
});

function typeOf({ type, enum: options }: JsonSchema): SettingField['type'] {
  if (options) return 'choice';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return 'list';
  return type === 'boolean' || type === 'object' ? type : 'text';
}

/** Returns the default; for an object with a default it is made of those of its properties. */
function defaultOf({ default: fallback, properties }: JsonSchema): unknown {
  if (!properties || fallback === undefined) return fallback ?? null;
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, defaultOf(property)]));
}
