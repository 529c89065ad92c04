/** Who plays an attack, and so what it may use. */
export type Player =
  | 'stranger'
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

/** How a network posts to us: the path of our callbacks, and what it signs with. */
export type CallbackEnd = { readonly path: string; readonly secret: string; readonly identity: string };

/** What an attack may use. */
export type Ground = {
  /** The gateway, for example `http://127.0.0.1:1234`. */
  readonly origin: string;
  readonly port: number;
  /** Where customers bind by SMPP. */
  readonly smppPort: number;
  /** The address that the attacker connects from. */
  readonly address: string;
  /** The address that the victim connects from: somebody behind the same router as the victim has it, too. */
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
  /** Counts what came of it, once or several times: the status of an answer, or one of `Outcome`. */
  count(outcome: number | Outcome, times?: number): void;
  /** Calls this for each number that the gateway asks the attacker's look-up service for. */
  onLookUp(asked: () => void): void;
};

/**
 * A connection that was opened, one that ended without an answer, bytes that a carrier sent, a PDU that was answered, or
 * a number that was looked up.
 */
export type Outcome = 'opened' | 'closed' | 'sent' | 'answered' | 'looked up';

/** What came of an attack: how often it got each status, or an `Outcome`. */
export type Answers = Readonly<Partial<Record<string, number>>>;

/** What a bound makes of an attack on any machine: a claim, and whether what came of it in this time keeps it. */
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
  /** Whether it is part of the smallest size. */
  readonly tiny?: true;
  /** Why the program does not withstand it yet: it is measured and shown, and judged by a claim that may still fail. */
  readonly open?: string;
  /** Whether its account has the number and the agent at the hostile networks. */
  readonly ownsNetworks?: true;
  /** What a bound makes of it, whatever the machine is. */
  readonly meets?: Meeting;
  /** The number of accounts that play it together; one if absent. */
  readonly accounts?: number;
  /** Whether it asks for so many password hashes that a sign-in of the victim's must not wait behind them. */
  readonly hashes?: true;
  /** Whether its requests wait for one another in the database, where they must not take all connections. */
  readonly locks?: true;
  /** Whether its sessions are an hour old when it begins: left open, or stolen. */
  readonly hasOldSessions?: true;
  /** Whether it fills the queue of mails, in which a link of the victim's for a new password must not wait. */
  readonly mails?: true;
  prepare(ground: Ground): Strike | Promise<Strike>;
};

/**
 * What one attacker has. The bytes are those of a line of 100 Mbit/s; the requests of a tenant are somewhat more than
 * its plan allows, so that a limit that does not hold shows.
 */
export const MEANS = {
  bytesPerSecond: 12_500_000,
  strangerPerSecond: 200,
  trialPerSecond: 12,
  productionPerSecond: 60,
  sockets: 10_000,
  socketsPerSecond: 2_000,
} as const;

/** The largest number of requests of this size per second that the attacker's line carries. */
export const withinLine = (perSecond: number, bytes: number): number =>
  Math.min(perSecond, MEANS.bytesPerSecond / bytes);
