import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, createTraceState, trace } from '@opentelemetry/api';
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, type MetricProducer, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import packageJson from '../../../../package.json' with { type: 'json' };
import type { TelemetryConfig } from '../../config.ts';
import { endsWithin } from '../../lib/background/ends-within.ts';
import type { MetricsReport } from '../../metrics.ts';
import type { Telemetry } from '../telemetry.ts';
import type { SpanData, StageName } from '../tracing.ts';
import { createExporter, type OnExported } from './exporter.ts';
import { createFaultReport } from './fault-report.ts';
import { toLogRecord } from './log-record.ts';
import { toMetricData } from './metric-data.ts';

const SCOPE = 'heliograph';
const MAX_QUEUED = 8192;
const MAX_PER_EXPORT = 512;
const FLUSH_MS = 1500;
const CLOSE_MS = 500;

type Provider = { forceFlush(): Promise<void>; shutdown(): Promise<void> };

/** Starts the parts of the SDK that the settings ask for. They are ours alone: nothing is registered globally. */
export function createTelemetry(config: TelemetryConfig, instance: string): Telemetry {
  const faults = createFaultReport();
  const resource = resourceFromAttributes({
    'service.name': config.serviceName,
    'service.version': packageJson.version,
    'service.instance.id': instance,
    ...config.resourceAttributes,
  });
  const providers: Provider[] = [];
  const parts = { config, resource, onExported: faults.onExported, add: (one: Provider) => void providers.push(one) };
  return {
    emitSpan: config.signals.traces ? openTraces(parts) : null,
    writeLine: config.signals.logs ? openLogs(parts) : null,
    exportMetrics(read) {
      if (config.signals.metrics) openMetrics(parts, read);
    },
    reportTo: faults.to,
    async flush() {
      await endsWithin(Promise.allSettled(providers.map((provider) => provider.forceFlush())), FLUSH_MS);
    },
    async close() {
      await endsWithin(Promise.allSettled(providers.map((provider) => provider.shutdown())), CLOSE_MS);
    },
  };
}

type Parts = {
  readonly config: TelemetryConfig;
  readonly resource: Resource;
  readonly onExported: OnExported;
  readonly add: (provider: Provider) => void;
};

const KINDS: Readonly<Record<StageName, SpanKind>> = {
  accept: SpanKind.SERVER,
  claim: SpanKind.INTERNAL,
  submit: SpanKind.CLIENT,
  receipt: SpanKind.CONSUMER,
  webhook: SpanKind.CLIENT,
};

function openTraces({ config, resource, onExported, add }: Parts): NonNullable<Telemetry['emitSpan']> {
  const exporter = createExporter(
    config,
    { path: 'v1/traces', serializer: JsonTraceSerializer, countItems: TraceExporterMetricsHelper },
    onExported,
  );
  // A span is made when its stage has ended, with the ids that it has in all processes.
  let ids = { traceId: '', spanId: '' };
  const provider = new TracerProvider({
    resource,
    // What is not sampled never gets here.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: MAX_QUEUED, maxExportBatchSize: MAX_PER_EXPORT }),
    ],
  });
  add(provider);
  const tracer = provider.getTracer(SCOPE, packageJson.version);
  return (data) => {
    ids = data;
    const { name, startMs, endMs, attributes, failed } = data;
    const span = tracer.startSpan(name, { kind: KINDS[name], startTime: startMs, attributes }, parentOf(data));
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  };
}

function parentOf({ traceId, parentId, state }: SpanData) {
  if (parentId === null) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId: parentId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    ...(state === null ? {} : { traceState: createTraceState(state) }),
  });
}

function openLogs({ config, resource, onExported, add }: Parts): NonNullable<Telemetry['writeLine']> {
  const exporter = createExporter(
    config,
    { path: 'v1/logs', serializer: JsonLogsSerializer, countItems: LogsExporterMetricsHelper },
    onExported,
  );
  const provider = new LoggerProvider({
    resource,
    processors: [
      new BatchLogRecordProcessor({ exporter, maxQueueSize: MAX_QUEUED, maxExportBatchSize: MAX_PER_EXPORT }),
    ],
  });
  add(provider);
  const logger = provider.getLogger(SCOPE, packageJson.version);
  return (line) => logger.emit(toLogRecord(line));
}

function openMetrics({ config, resource, onExported, add }: Parts, read: () => Promise<MetricsReport>): void {
  const exporter = createExporter(
    config,
    { path: 'v1/metrics', serializer: JsonMetricsSerializer, countItems: MetricsExporterMetricsHelper },
    onExported,
  );
  const startMs = Date.now();
  const producer: MetricProducer = {
    async collect() {
      const metrics = toMetricData(await read(), { startMs, endMs: Date.now() });
      const scope = { name: SCOPE, version: packageJson.version };
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: config.metricIntervalMs,
    exportTimeoutMillis: Math.min(config.timeoutMs, config.metricIntervalMs),
    metricProducers: [producer],
  });
  add(new MeterProvider({ resource, readers: [reader] }));
}
