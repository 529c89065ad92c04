/** A value that depends on earlier responses. */
export type From = (answers: Readonly<Record<string, unknown>>) => unknown;

/**
 * Returns a reference to a member of an earlier response, by the operation (or the name of the step) and its members:
 * `sendSms.messageId`, `listConversations.data.0.chatId`. `change` makes something else of it.
 */
export const from =
  (place: string, change: (value: never) => unknown = (value) => value): From =>
  (answers) =>
    change(place.split('.').reduce<unknown>((at, member) => Object(at)[member], answers) as never);

type Values = Readonly<Record<string, unknown>>;

/** Credentials of a request: the demo account's key (the default) or user, a session by its name, or none. */
export type Caller = 'key' | 'user' | 'anonymous' | { readonly session: string } | { readonly basic: string };

/** One request. What a step leaves out comes from the description of the operation. Values may be references. */
export type Step = {
  readonly operation: string;
  /** Keeps the response under this name, and out of the examples: the step only prepares others. */
  readonly name?: string;
  readonly path?: Values;
  readonly query?: Values;
  /** A link from an earlier response, instead of the operation's path. */
  readonly url?: From;
  /** Members that replace those of the example, since they differ in each program. */
  readonly body?: Values;
  /** A form with its file. */
  readonly form?: { readonly fields?: Values; readonly content: string; readonly fileName: string };
  readonly as?: Caller;
  /** Keeps the session of the response under this name. */
  readonly session?: string;
  /** The expected status, if it is not the first 2xx that the operation describes. */
  readonly status?: number;
  /** Reason why an error is expected: something that a fresh start does not have. */
  readonly because?: string;
  /** Asks again until each of these members of the response has one of these values. */
  readonly until?: Readonly<Record<string, readonly unknown[]>>;
};

/** Makes a step. */
export const step = (operation: string, rest: Omit<Step, 'operation'> = {}): Step => ({ operation, ...rest });
