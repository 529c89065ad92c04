import type { Log } from '../lib/log.ts';
import type { MetricsReport } from '../metrics.ts';
import type { SpanData } from './tracing.ts';

/**
 * What a process exports to a collector. Everything is queued within bounds and sent in the background; what the collector
 * does not take is dropped.
 */
export type Telemetry = {
  /** Takes a span; null if traces are not exported. */
  readonly emitSpan: ((span: SpanData) => void) | null;
  /** Takes a line of the log; null if the log is not exported. */
  readonly writeLine: ((line: string) => void) | null;
  /** Begins to export what `read` returns, at the interval of the setting. Does nothing if metrics are not exported. */
  exportMetrics(read: () => Promise<MetricsReport>): void;
  /** Sets where it is said that the collector takes nothing: once, and again every ten minutes while that lasts. */
  reportTo(log: Log): void;
  /** Sends what is queued, for up to 1.5 seconds. */
  flush(): Promise<void>;
  /** Stops exporting, within half a second. */
  close(): Promise<void>;
};
