/** One requirement at the carrier, besides the connection itself. */
export type SetupStep = {
  readonly name: 'subscribe' | 'register';
  /** Also false if the carrier did not state it. */
  readonly ok: boolean;
  /** Full sentences: the current state, or the missing item and the command that fixes it. */
  readonly detail: string;
};

/** A stored connection, with its secret as the text that its kind reads. */
export type OpenConnection = { readonly name: string; readonly settings: unknown; readonly secret: string };

/** Set-up at a carrier that its connection needs to work fully. Neither function rejects. */
export type CarrierSetup = {
  /** Checks the set-up, and changes nothing. */
  check(connection: OpenConnection): Promise<SetupStep[]>;
  /** Sets up missing items. Without a PIN, numbers that are not registered stay so. */
  complete(connection: OpenConnection, options: { readonly pin: string | null }): Promise<SetupStep[]>;
};
