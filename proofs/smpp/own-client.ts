import { createSmppCarrier } from '../../src/carriers/smpp/carrier.ts';
import { parseSmppSettings } from '../../src/carriers/smpp/settings.ts';
import { numberOf, type StartClient } from './client.ts';

/** Short delays, so that hours of attack fit into minutes. */
const TIMING = { reconnectBaseMs: 5, reconnectMaxMs: 20, stableMs: 60_000, faultRetryMs: 20, stuckRetryMs: 20 };
const LIMITS = { bindTimeoutSeconds: 1, submitTimeoutSeconds: 2, throttlePauseMs: 1 };

/** The gateway's own SMPP client. */
export const startClient: StartClient = (port, window, changed) => {
  const settings = parseSmppSettings({ host: '127.0.0.1', port, systemId: 'proof', window, ...LIMITS });
  const carrier = createSmppCarrier(settings, { password: 'secret' }, TIMING);
  carrier.start({
    receipt: () => Promise.resolve(),
    inbound: () => Promise.resolve(),
    changed,
    failed: () => undefined,
    log: () => undefined,
  });
  return {
    room: carrier.room,
    submit: (n, onOutcome) =>
      void carrier
        .submit({
          messageId: String(n),
          destination: `+${numberOf(n)}`,
          sender: 'Acme',
          body: 'Hello',
          validUntil: null,
          wantReceipt: true,
        })
        .then(({ kind }) => onOutcome(kind)),
    stop: () => carrier.stop(1000),
  };
};
