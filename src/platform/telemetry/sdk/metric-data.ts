import { type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { MetricsReport } from '../../metrics.ts';

type Metric = MetricsReport[number];
type Labels = Readonly<Record<string, string | number>>;
type Value = { readonly value: number; readonly metricName?: string; readonly labels: Labels };

/** The time that the values of a report cover, in milliseconds since 1970. */
export type Period = { readonly startMs: number; readonly endMs: number };

/** Makes what OpenTelemetry exports of what the Prometheus client has measured: the same names, labels and values. */
export const toMetricData = (report: MetricsReport, period: Period): MetricData[] =>
  report.flatMap((metric) => (metric.values.length === 0 ? [] : (dataOf(metric, period) ?? [])));

function dataOf(metric: Metric, period: Period): MetricData | null {
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const values = valuesOf(metric);
  switch (String(metric.type)) {
    case 'counter':
      return {
        ...common,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: points(values, period),
      };
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: points(values, period) };
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(metric.name, values, period) };
    default:
      // We have no summaries.
      return null;
  }
}

/** A gauge may have no value yet (NaN), which JSON cannot express. */
const valuesOf = (metric: Metric): Value[] =>
  (metric.values as readonly Value[]).filter(({ value }) => Number.isFinite(value));

const points = (values: readonly Value[], period: Period): DataPoint<number>[] =>
  values.map(({ labels, value }) => ({ ...timesOf(period), attributes: { ...labels }, value }));

/**
 * The Prometheus client gives each bucket, with all smaller ones in its count, and sum and count as values of their own.
 */
function histograms(name: string, values: readonly Value[], period: Period): DataPoint<Histogram>[] {
  const series = Map.groupBy(values, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels));
  return [...series.values()].map((own) => {
    const buckets = own.filter(({ metricName }) => metricName === `${name}_bucket`);
    const counts = buckets.map(({ value }, i) => value - (buckets[i - 1]?.value ?? 0));
    const valueOf = (suffix: string): number => own.find((v) => v.metricName === `${name}_${suffix}`)?.value ?? 0;
    const { le: _le, ...attributes } = own[0]?.labels ?? {};
    return {
      ...timesOf(period),
      attributes,
      value: {
        // The last bucket is that of all values.
        buckets: { boundaries: buckets.slice(0, -1).map(({ labels }) => Number(labels['le'])), counts },
        sum: valueOf('sum'),
        count: valueOf('count'),
      },
    };
  });
}

const timesOf = ({ startMs, endMs }: Period) => ({ startTime: toHrTime(startMs), endTime: toHrTime(endMs) });

const toHrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
