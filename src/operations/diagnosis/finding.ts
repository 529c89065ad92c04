/** The result of one check; `advice` says what to do when it failed. */
export type Finding = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly advice?: string;
};
