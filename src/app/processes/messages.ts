import type { Config } from '../../platform/config.ts';
import type { MetricsReport } from '../../platform/metrics.ts';
import type { RemoteSandbox } from '../member.ts';

/** What a process needs to know when it starts. Its other settings are those of the environment. */
export type StartOrder = {
  readonly number: number;
  readonly settings: Pick<Config, 'port' | 'databaseUrl' | 'databasePool'>;
  readonly sandbox: RemoteSandbox | null;
};

/** What the process that starts the others says to them. */
export type Order =
  | { readonly kind: 'start'; readonly order: StartOrder }
  | { readonly kind: 'stop' }
  | { readonly kind: 'peers'; readonly running: number; readonly wanted: number }
  /** Asks for a report. */
  | { readonly kind: 'measure'; readonly id: number }
  /** Answers `collect`. */
  | { readonly kind: 'collected'; readonly id: number; readonly reports: readonly MetricsReport[] };

/** What the other processes say to it. */
export type News =
  | { readonly kind: 'ready'; readonly address: string | null }
  /** It could not start; the text is for people. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Asks for the reports of all. */
  | { readonly kind: 'collect'; readonly id: number }
  /** Answers `measure`. */
  | { readonly kind: 'measured'; readonly id: number; readonly report: MetricsReport };
