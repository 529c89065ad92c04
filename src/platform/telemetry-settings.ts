import { integer, keyValues, oneOf, share, text, url } from './lib/setting-rules.ts';
import type { Key } from './setting-key.ts';

/** How OpenTelemetry's own settings name the choice of traced messages. */
const SAMPLERS = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;

const exported = (what: string): Key<'otlp' | 'none'> => ({
  type: 'otlp or none',
  fallback: 'otlp',
  help: `Whether ${what} are exported, once OTEL_EXPORTER_OTLP_ENDPOINT is set.`,
  parse: oneOf<'otlp' | 'none'>(['otlp', 'none']),
});

/** The settings of OpenTelemetry, by the names that its own SDK gives them. */
export const TELEMETRY_KEYS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: 'URL',
    fallback: '',
    help: 'URL of an OpenTelemetry collector that takes OTLP as JSON over HTTP, such as http://127.0.0.1:4318: traces, metrics and logs are sent to v1/traces, v1/metrics and v1/logs below it. If empty, nothing is exported, and nothing of its SDK is loaded. Of its settings, only those listed here have an effect.',
    parse: url(['http:', 'https:'], 'http://127.0.0.1:4318'),
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    type: 'http/json',
    fallback: 'http/json',
    help: 'How the collector is spoken to; there is no other way than http/json.',
    parse: oneOf<'http/json'>(['http/json']),
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    type: 'secret',
    fallback: '',
    help: 'Headers for the collector, as name=value,name=value.',
    parse: keyValues,
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    type: 'number',
    fallback: '10000',
    help: 'Milliseconds that one export may take, with its retries.',
    parse: integer(100, 60_000),
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: {
    type: 'gzip or none',
    fallback: 'none',
    help: 'How exports are compressed.',
    parse: oneOf<'gzip' | 'none'>(['gzip', 'none']),
  },
  OTEL_TRACES_EXPORTER: exported('traces'),
  OTEL_METRICS_EXPORTER: exported('metrics'),
  OTEL_LOGS_EXPORTER: exported('log lines'),
  OTEL_METRIC_EXPORT_INTERVAL: {
    type: 'number',
    fallback: '60000',
    help: 'Milliseconds between two exports of metrics. Each reads the database like a request for /metrics.',
    parse: integer(1000, 3_600_000),
  },
  OTEL_TRACES_SAMPLER: {
    type: SAMPLERS.join(', '),
    fallback: 'parentbased_traceidratio',
    help: 'Which messages are traced. With parentbased_…, the `traceparent` of a request for one message decides, if it has one. All processes need the same value.',
    parse: oneOf(SAMPLERS),
  },
  OTEL_TRACES_SAMPLER_ARG: {
    type: 'number',
    fallback: '0.01',
    help: 'The share of messages, from 0 to 1, that …traceidratio traces. All processes need the same value.',
    parse: share,
  },
  OTEL_SERVICE_NAME: {
    type: 'name',
    fallback: 'heliograph',
    help: 'Name of the program in what is exported.',
    parse: text,
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    type: 'list',
    fallback: '',
    help: 'Attributes of everything that is exported, as name=value,name=value, such as deployment.environment.name=test.',
    parse: keyValues,
  },
} satisfies Record<string, Key<unknown>>;
