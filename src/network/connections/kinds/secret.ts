import { isRecord } from '../../../platform/lib/is-record.ts';

/** The secret of a connection as its named fields. */
export type SecretFields = Readonly<Record<string, unknown>>;

/** One field of the secret, for forms and the command line. */
export type SecretField = {
  readonly name: string;
  /** A full sentence. */
  readonly description: string;
  /** `json`: a JSON object, such as a key file, whose members are stored next to the other fields. */
  readonly type: 'text' | 'json';
  /** True if we choose it and the operator gives it to the carrier: a random one is made if omitted. */
  readonly generated: boolean;
  /** True if some connections have none. */
  readonly optional?: boolean;
};

/** Input, storage and change of the secret of a kind. */
export type Secret = {
  readonly fields: readonly SecretField[];
  /** Validates the fields and returns the text that is sealed. Throws an Error that names the invalid fields. */
  toText(fields: SecretFields): string;
  /** Returns the fields of a text that `toText` made. */
  toFields(text: string): SecretFields;
};

/** Creates a secret that is stored as JSON; `parse` validates its fields. */
export const jsonSecret = (fields: readonly SecretField[], parse: (json: unknown) => object): Secret => ({
  fields,
  toText: (given) => JSON.stringify(parse(given)),
  toFields: (text) => ({ ...JSON.parse(text) }),
});

/** Returns the fields with each `json` field replaced by its members. */
export function flattenSecret({ fields }: Secret, given: SecretFields): SecretFields {
  const files = fields.filter(({ type, name }) => type === 'json' && isRecord(given[name])).map(({ name }) => name);
  const rest = Object.entries(given).filter(([name]) => !files.includes(name));
  return Object.assign({}, ...files.map((name) => given[name]), Object.fromEntries(rest));
}
