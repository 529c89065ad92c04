/** One setting. `parse` returns the value, or throws an Error whose message completes the sentence "<KEY> …". */
export type Key<T> = {
  readonly type: string;
  readonly fallback: string;
  readonly help: string;
  parse(text: string): T;
};
