import { MINUTE_MS } from '../../lib/time.ts';
import type { Log } from '../../lib/log.ts';
import type { OnExported } from './exporter.ts';

const REPEAT_MS = 10 * MINUTE_MS;

/** Says in the log that exports fail: the first time, and again every ten minutes; and when they succeed again. */
export function createFaultReport(now = () => performance.now()) {
  let log: Log | null = null;
  let saidAt: number | null = null;
  const onExported: OnExported = (error) => {
    if (error === null) {
      if (saidAt !== null) log?.info({}, 'the OpenTelemetry collector takes what is exported again');
      saidAt = null;
    } else if (saidAt === null || now() - saidAt >= REPEAT_MS) {
      saidAt = now();
      log?.warn(
        { reason: error.message || error.name },
        'the OpenTelemetry collector takes nothing: what is exported is lost (OTEL_EXPORTER_OTLP_ENDPOINT)',
      );
    }
  };
  return {
    onExported,
    to(next: Log): void {
      log = next;
    },
  };
}
