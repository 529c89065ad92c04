/** The outcome of one message: accepted, refused, not sent (`retry`), or unknown. */
export type MessageOutcome = 'accepted' | 'refused' | 'retry' | 'unknown';

/** An SMPP client under attack. */
export type Client = {
  /** Returns how many more messages it takes now. */
  room(): number;
  /** Sends message `n`; `onOutcome` should be called exactly once for each. */
  submit(n: number, onOutcome: (outcome: MessageOutcome) => void): void;
  /** Unbinds. Every message must have an outcome by then. */
  stop(): Promise<void>;
};

/** Starts a client on a port; `changed` is called when `room` may have changed. */
export type StartClient = (port: number, window: number, changed: () => void) => Client;

/** The destination number that carries `n` to the peer. */
export const numberOf = (n: number): string => `39${String(n).padStart(10, '0')}`;
/** The message number in a destination made by `numberOf`. */
export const indexOf = (number: string): number => Number(number.slice(2));
