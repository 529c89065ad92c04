import { Counter, Histogram } from 'prom-client';
import type { Channel } from '../core/channels.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Decision } from './guard.ts';

/** Counts what becomes of codes in this process, over all accounts. */
export type VerifyMeter = {
  sent(channel: Channel): void;
  stopped(decision: Decision): void;
  approved(seconds: number): void;
};

/** Creates the meter of codes. */
export function createVerifyMeter({ registry }: Pick<Metrics, 'registry'>): VerifyMeter {
  const registers = [registry];
  const codes = new Counter({
    name: 'heliograph_verify_codes_total',
    help: 'Codes of verifications that were accepted for sending, by the channel of their first message',
    labelNames: ['channel'] as const,
    registers,
  });
  const stopped = new Counter({
    name: 'heliograph_verify_stopped_total',
    help: 'Codes that the guard against pumping has blocked or challenged, by the rule that decided',
    labelNames: ['outcome', 'rule'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'heliograph_verify_approval_seconds',
    help: 'Time from the request for a code until it was entered',
    buckets: [5, 10, 20, 30, 60, 120, 300, 600],
    registers,
  });
  return {
    sent: (channel) => codes.inc({ channel }),
    stopped: ({ outcome, rule }) => stopped.inc({ outcome, rule: rule ?? '' }),
    approved: (time) => seconds.observe(time),
  };
}
