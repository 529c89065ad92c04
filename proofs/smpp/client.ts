/** What a client says of one message: whether it was taken, refused, not sent, or cannot be told. */
export type Told = 'accepted' | 'refused' | 'retry' | 'unknown';

/** An SMPP client under attack. */
export type Client = {
  /** How many more messages it takes now. */
  room(): number;
  /** Sends message `n`; `tell` should be called once for each. */
  submit(n: number, tell: (told: Told) => void): void;
  /** Unbinds; every message must have been told of by then. */
  stop(): Promise<void>;
};

export type StartClient = (port: number, window: number, changed: () => void) => Client;

/** The number that carries `n` to the peer. */
export const numberOf = (n: number): string => `39${String(n).padStart(10, '0')}`;
export const orderOf = (number: string): number => Number(number.slice(2));
