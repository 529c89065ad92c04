import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { createOtlpHttpExportDelegate, httpAgentFactoryFromOptions } from '@opentelemetry/otlp-exporter-base/node-http';
import type { IExporterMetricsHelper, ISerializer } from '@opentelemetry/otlp-transformer';
import type { TelemetryConfig } from '../../config.ts';

/** What one kind of data needs to be sent. */
export type Signal<Items> = {
  /** Below the endpoint. */
  readonly path: 'v1/traces' | 'v1/metrics' | 'v1/logs';
  readonly serializer: ISerializer<Items, unknown>;
  readonly countItems: IExporterMetricsHelper<Items>;
};

/** Is given the error of each failed export, and null for each that was taken. */
export type OnExported = (error: Error | null) => void;

type ExportResult = Parameters<Parameters<OTLPExporterBase<unknown>['export']>[1]>[0];

const MAX_CONCURRENT = 4;

/**
 * Creates an exporter that posts JSON. It is put together from its parts, because the ready-made exporters read further
 * settings from the environment, past `platform/config.ts`.
 */
export function createExporter<Items>(config: TelemetryConfig, signal: Signal<Items>, onExported: OnExported) {
  const { endpoint, headers, timeoutMs, compression } = config;
  const delegate = createOtlpHttpExportDelegate(
    {
      url: `${endpoint}/${signal.path}`,
      // The transport adds its own headers to the object.
      headers: async () => ({ ...headers, 'content-type': 'application/json' }),
      timeoutMillis: timeoutMs,
      concurrencyLimit: MAX_CONCURRENT,
      compression,
      agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
    },
    signal.serializer,
    'otlp_http_json_exporter',
    signal.countItems,
    undefined,
  );
  const exporter = new OTLPExporterBase<Items>(delegate);
  return {
    export(items: Items, done: (result: ExportResult) => void): void {
      exporter.export(items, (result) => {
        onExported(result.code === 0 ? null : (result.error ?? new Error('the export failed')));
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
