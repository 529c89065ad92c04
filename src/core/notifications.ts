/** The NOTIFY channels of the program, with their payloads and what each of them wakes. */
export type NotifyChannel =
  /** A connection (its id) has work in the queue: its pumps. */
  | 'heliograph_dispatch'
  /** Connections, routes, senders, prices or the restore guard changed: what each process keeps of them in memory. */
  | 'heliograph_routing'
  /** `changed`: the links of a worker: the share of the rate and the supervisor. */
  | 'heliograph_links'
  /** `stored` or `parked`: receipts that a process without a worker left to them. */
  | 'heliograph_receipts'
  /** Outcomes were simulated: the task that applies them when they are due. */
  | 'heliograph_simulated'
  /** A message with a fallback has reached a final state: the fallbacks. */
  | 'heliograph_fallbacks'
  /** A campaign (its id; empty: any) has something to do: the campaigns. */
  | 'heliograph_campaigns'
  /** Jobs are due: the job runner. */
  | 'heliograph_jobs'
  /** Events are in the outbox: the delivery of webhooks. */
  | 'heliograph_webhooks'
  /** Deliveries are in the outbox of SMPP: the processes with receivers. */
  | 'heliograph_smpp'
  /** Rate limits of SMPP, of API requests, and of failed sign-ins, as counts of another process. */
  | 'heliograph_smpp_sends'
  | 'heliograph_requests'
  | 'heliograph_failures'
  /** An account (its id) changed: its SMPP binds. */
  | 'heliograph_accounts'
  /** The inbox of an account (its id) changed: its live views, and the tasks of the inbox. */
  | 'heliograph_inbox'
  /** A user views a conversation or types in it (JSON): the live views of colleagues. */
  | 'heliograph_presence'
  /** An inbound message to simulate (JSON): the sandbox. */
  | 'heliograph_sandbox';

/** Functions that receive the payload of a notification; '' if notifications may have been missed. */
export type Listeners = { readonly [C in NotifyChannel]?: (payload: string) => void };
