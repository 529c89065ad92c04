import { Counter } from 'prom-client';
import { STATUS } from '../../carriers/smpp/status.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { messagesIn, type Request } from './session.ts';
import type { StrangerBound } from './strangers.ts';

/** Registers the counter of submits by their outcome, and returns the function that counts a response. */
export function countSubmits({ registry }: Pick<Metrics, 'registry'>): (request: Request, status: number) => void {
  const counter = new Counter({
    name: 'heliograph_smpp_submits_total',
    help: 'Messages that customers submitted over SMPP, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  return (request, status) => {
    const messages = messagesIn(request);
    if (messages > 0) counter.inc({ outcome: outcomeOf(status) }, messages);
  };
}

/** Classifies a status; `failed`: nothing is wrong with the message, and the client may send it again. */
function outcomeOf(status: number): 'accepted' | 'throttled' | 'failed' | 'refused' {
  if (status === STATUS.ESME_ROK) return 'accepted';
  if (status === STATUS.ESME_RTHROTTLED) return 'throttled';
  return status === STATUS.ESME_RSYSERR ? 'failed' : 'refused';
}

/**
 * Registers the counter of connections that were closed immediately, by their bound, and returns the function that
 * counts one.
 */
export function countRefusedConnections({ registry }: Pick<Metrics, 'registry'>): (bound: StrangerBound) => void {
  const counter = new Counter({
    name: 'heliograph_smpp_refused_total',
    help: 'Connections to the SMPP server that were closed before anything was read, by the bound that they exceeded',
    labelNames: ['bound'] as const,
    registers: [registry],
  });
  return (bound) => counter.inc({ bound });
}
