/** Role of the attacker, which determines the access that it has. */
export type Player =
  | 'unauthenticated client'
  | 'trial tenant'
  | 'production tenant'
  | 'carrier peer'
  | 'webhook receiver'
  | 'callback sender';

/** The account of an attacker. */
export type Tenant = {
  readonly accountId: number;
  readonly apiKey: string;
  readonly username: string;
  readonly password: string;
};

/** Callback endpoint that a network posts to: its path, and the secret and identity that it signs with. */
export type CallbackEnd = { readonly path: string; readonly secret: string; readonly identity: string };

/** Surroundings of an attack: the addresses, accounts and hostile peers that it may use. */
export type Ground = {
  /** The gateway, for example `http://127.0.0.1:1234`. */
  readonly origin: string;
  readonly port: number;
  /** Port for customers over SMPP. */
  readonly smppPort: number;
  /** The address that the attacker connects from. */
  readonly address: string;
  /** The address that the victim connects from: a client behind the same router has it, too. */
  readonly victimAddress: string;
  readonly victimName: string;
  /** The account of this attack alone, so that no earlier attack has used up what its key may do. */
  readonly tenant: Tenant;
  /** Further accounts of the attacker, as many as the attack asks for. */
  readonly others: readonly Tenant[];
  readonly callbacks: { readonly whatsapp: CallbackEnd; readonly rcs: CallbackEnd };
  readonly peers: Peers;
  /** The ports on which webhook receivers listen, by their bad manner. */
  readonly receiverPorts: Readonly<Record<string, number>>;
  /** Counts what came of it, once or several times: the status of a response, or one of `Outcome`. */
  count(outcome: number | Outcome, times?: number): void;
  /** Calls this for each number that the gateway asks the attacker's look-up service for. */
  onLookUp(asked: () => void): void;
};

/**
 * A connection that was opened, one that ended without a response, bytes that a carrier sent, a PDU that got a response, or
 * a number that was looked up.
 */
export type Outcome = 'opened' | 'closed' | 'sent' | 'answered' | 'looked up';

/** Number of requests of an attack by result: an HTTP status, or an `Outcome`. */
export type Answers = Readonly<Partial<Record<string, number>>>;

/**
 * Claim about the effect of a limit on an attack, independent of the speed of the machine. `holds` judges the results
 * of `seconds`.
 */
type Meeting = { readonly claim: string; readonly holds: (answers: Answers, seconds: number) => boolean };

/** The carriers that the attacker runs, by name. */
export type Peers = {
  /** Makes a carrier hostile until `over`; calls `onSent` each time that it sends something hostile. */
  turn(name: string, over: AbortSignal, onSent: () => void): Promise<void>;
};

/** The attack itself; resolves soon after `over`. */
export type Strike = (over: AbortSignal) => Promise<void>;

/** One attack. Everything that it needs is made by `prepare`, before the victim's times count. */
export type Attack = {
  readonly name: string;
  readonly player: Player;
  /** Set if the attack belongs to the smallest size. */
  readonly tiny?: true;
  /**
   * Reason why the program does not withstand it yet: it is measured and shown, and judged by a claim that may still
   * fail.
   */
  readonly open?: string;
  /** Set if its account owns the number and the agent at the hostile networks. */
  readonly ownsNetworks?: true;
  /** Claim about a limit that stops it on any machine. */
  readonly meets?: Meeting;
  /** The number of accounts that play it together; one if absent. */
  readonly accounts?: number;
  /**
   * Set if it asks for so many password hashes that a sign-in of the victim could wait behind them, which must not
   * happen.
   */
  readonly hashes?: true;
  /** Set if its requests wait for one another in the database, where they must not take all connections. */
  readonly locks?: true;
  /** Set if its sessions are an hour old when it begins: left open, or stolen. */
  readonly hasOldSessions?: true;
  /** Set if it fills the mail queue, in which the victim's link for a new password must not wait. */
  readonly mails?: true;
  prepare(ground: Ground): Strike | Promise<Strike>;
};

/**
 * Resources of one attacker. The bytes are those of a line of 100 Mbit/s; the requests of a tenant are somewhat more
 * than its plan allows, so that a limit that does not hold shows.
 */
export const MEANS = {
  bytesPerSecond: 12_500_000,
  unauthenticatedPerSecond: 200,
  trialPerSecond: 12,
  productionPerSecond: 60,
  sockets: 10_000,
  socketsPerSecond: 2_000,
} as const;

/** The largest number of requests of this size per second that the attacker's line carries. */
export const withinLine = (perSecond: number, bytes: number): number =>
  Math.min(perSecond, MEANS.bytesPerSecond / bytes);
