import type { TelemetryConfig } from '../config.ts';
import type { Telemetry } from './telemetry.ts';

/** Loads the OpenTelemetry SDK and begins to export. `instance` tells apart the processes of one installation. */
export async function openTelemetry(config: TelemetryConfig, instance: string): Promise<Telemetry> {
  const { createTelemetry } = await import('./sdk/create.ts');
  return createTelemetry(config, instance);
}
