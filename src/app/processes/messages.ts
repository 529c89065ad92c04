import type { Config } from '../../platform/config.ts';
import type { MetricsReport } from '../../platform/metrics.ts';
import type { RemoteSandbox } from '../member.ts';

/** Input of a process at its start. Its other settings come from the environment. */
export type StartOrder = {
  readonly number: number;
  readonly settings: Pick<Config, 'port' | 'databaseUrl' | 'databasePool'>;
  readonly sandbox: RemoteSandbox | null;
};

/** Message from the process that starts the others to one of them. */
export type Order =
  | { readonly kind: 'start'; readonly order: StartOrder }
  | { readonly kind: 'stop' }
  | { readonly kind: 'peers'; readonly running: number; readonly wanted: number }
  /** Asks for a report. */
  | { readonly kind: 'measure'; readonly id: number }
  /** Response to `collect`. */
  | { readonly kind: 'collected'; readonly id: number; readonly reports: readonly MetricsReport[] };

/** Message from one of the other processes to the one that started it. */
export type News =
  | { readonly kind: 'ready'; readonly address: string | null }
  /** It could not start; the text is human-readable. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Asks for the reports of all. */
  | { readonly kind: 'collect'; readonly id: number }
  /** Response to `measure`. */
  | { readonly kind: 'measured'; readonly id: number; readonly report: MetricsReport };
