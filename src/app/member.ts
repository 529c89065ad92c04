import type { Config } from '../platform/config.ts';
import type { MetricsReport } from '../platform/metrics.ts';

/** The sandbox of a program of several processes: it runs in the one that starts the others. */
export type RemoteSandbox = {
  /** Our apps at the social networks, some of them simulated. */
  readonly apps: Config['social'];
  /** Base URL of the simulated social networks; `https://host/path` is served as `<url>/host/path`. */
  readonly socialUrl: string;
  /** The port at which all processes take the callbacks of the simulated carriers. */
  readonly callbackPort: number;
};

/** One of the processes of a program, as this process sees itself and the others. */
export type Member = {
  /** Counted from 1; 0 is the process that starts the others. A replaced process keeps its number. */
  readonly number: number;
  /** Null without a sandbox. */
  readonly sandbox: RemoteSandbox | null;
  /** Sets how this process reports its measurements. */
  onReport(report: () => Promise<MetricsReport>): void;
  /** Returns the reports of all processes that respond within a second. */
  collectReports(): Promise<readonly MetricsReport[]>;
  /** Numbers of running and of configured processes. */
  peers(): { readonly running: number; readonly wanted: number };
};
