import type { Config } from '../platform/config.ts';
import type { MetricsReport } from '../platform/metrics.ts';

/** The sandbox of a program of several processes: it runs in the one that starts the others. */
export type RemoteSandbox = {
  /** Our apps at the social networks, some of them simulated. */
  readonly apps: Config['social'];
  /** Where the simulated social networks are; `https://host/path` is served as `<url>/host/path`. */
  readonly socialUrl: string;
  /** The port at which all processes take the callbacks of the simulated carriers. */
  readonly callbackPort: number;
};

/** One of the processes of a program, as this process sees itself and the others. */
export type Member = {
  /** From 1 on; 0 is the process that starts the others. It stays the same when the process is replaced. */
  readonly number: number;
  /** Null without a sandbox. */
  readonly sandbox: RemoteSandbox | null;
  /** Sets how this process reports what it has measured. */
  onReport(report: () => Promise<MetricsReport>): void;
  /** Returns the reports of all processes that answer within a second. */
  collectReports(): Promise<readonly MetricsReport[]>;
  /** How many processes run, and how many are to run. */
  peers(): { readonly running: number; readonly wanted: number };
};
