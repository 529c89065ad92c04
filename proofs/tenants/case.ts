import type { Party, ThingName } from './things.ts';

/**
 * Test case of one route. A route without a case here makes the proof fail: add the content of a valid request, and
 * each field of it that names a thing.
 */
export type Case = {
  /**
   * The fields that name things, by their position: `path.id`, `query.userId`, `body.messages.0.ids.0`,
   * `header.idempotency-key`. A query field with a comma-separated list ends in `[]`. Every field is tried alone, while
   * the others hold own things.
   */
  readonly ids?: Readonly<Record<string, ThingName>>;
  /** Further content of a valid request. */
  readonly query?: (party: Party) => Readonly<Record<string, string>>;
  readonly body?: (party: Party) => object;
  /** Returns the headers with the signature of a body. It is the credential: callers with fewer rights are not tried. */
  readonly sign?: (party: Party, body: string) => Readonly<Record<string, string>>;
  /** Members of the body whose content the client or a network defines: foreign fields in them are allowed. */
  readonly opaque?: readonly string[];
  /** If set, the body is a form, with its field `file` as a file of this name. */
  readonly form?: string;
  /** Set if only operators may use the route: any response other than 403 is an error. */
  readonly operatorsOnly?: true;
  /** Responses to a valid request other than 2xx. */
  readonly answers?: readonly number[];
};
