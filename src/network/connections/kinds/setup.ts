/** One thing that a carrier needs of the operator besides the connection. */
export type SetupStep = {
  readonly name: 'subscribe' | 'register';
  /** False also when the carrier did not say. */
  readonly ok: boolean;
  /** Full sentences: what is there, or what is missing and the command that cures it. */
  readonly detail: string;
};

/** A stored connection, with its secret as the text that its kind reads. */
export type OpenConnection = { readonly name: string; readonly settings: unknown; readonly secret: string };

/** What has to be set up at a carrier before its connection works fully. Neither function rejects. */
export type CarrierSetup = {
  /** Looks whether everything is there, and changes nothing. */
  check(connection: OpenConnection): Promise<SetupStep[]>;
  /** Sets up what is missing. Without a PIN, numbers that are not registered stay so. */
  complete(connection: OpenConnection, options: { readonly pin: string | null }): Promise<SetupStep[]>;
};
