import { type LogRecord, ROOT_CONTEXT, SeverityNumber, trace, TraceFlags } from '@opentelemetry/api';

const SEVERITIES: Readonly<Record<string, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

type LogLine = {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly err?: {
    readonly type?: string;
    readonly message?: string;
    readonly stack?: string;
    readonly cause?: unknown;
  };
  readonly traceId?: string;
  readonly spanId?: string;
} & Readonly<Record<string, unknown>>;

/**
 * Makes a record of a line that `platform/log.ts` has written, which has kept out and masked what may not be in a log. An
 * error becomes the attributes that OpenTelemetry has for it.
 */
export function toLogRecord(line: string): LogRecord {
  const { level, time, msg, err, traceId, spanId, ...fields }: LogLine = JSON.parse(line);
  return {
    timestamp: new Date(time),
    severityNumber: SEVERITIES[level] ?? SeverityNumber.UNSPECIFIED,
    severityText: level,
    body: msg ?? '',
    attributes: { ...scalars(fields), ...(err ? exceptionOf(err) : {}) },
    context:
      traceId && spanId
        ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
        : ROOT_CONTEXT,
  };
}

const scalars = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? value
        : JSON.stringify(value),
    ]),
  );

function exceptionOf({ type, message, stack, cause }: NonNullable<LogLine['err']>) {
  return {
    ...(type === undefined ? {} : { 'exception.type': type }),
    ...(message === undefined ? {} : { 'exception.message': message }),
    ...(stack === undefined ? {} : { 'exception.stacktrace': stack }),
    ...(cause === undefined ? {} : { 'exception.cause': JSON.stringify(cause) }),
  };
}
