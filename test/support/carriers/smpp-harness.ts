import { onTestFinished, vi } from 'vitest';
import type { Carrier, CarrierHost, Inbound, Outcome, Receipt, Submission } from '../../../src/channels/carrier.ts';
import { createSmppCarrier } from '../../../src/channels/smpp/carrier.ts';
import type { Timing } from '../../../src/channels/smpp/session.ts';
import { parseSmppSettings } from '../../../src/channels/smpp/settings.ts';
import { type Script, type ScriptedPeer, startScriptedPeer } from './smpp-scripted-peer.ts';

export type TestHost = CarrierHost & {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly failures: string[];
  readonly logs: string[];
  changes: number;
  unreadables: number;
};

/** Creates a host that records what the carrier reports; replace a method to fail or to wait. */
export function createTestHost(): TestHost {
  const host: TestHost = {
    receipts: [],
    inbounds: [],
    failures: [],
    logs: [],
    changes: 0,
    unreadables: 0,
    receipt: async (receipt) => void host.receipts.push(receipt),
    inbound: async (inbound) => void host.inbounds.push(inbound),
    unreadable: () => {
      host.unreadables += 1;
    },
    changed: () => {
      host.changes += 1;
    },
    failed: (reason) => void host.failures.push(reason),
    log: (level, message) => void host.logs.push(`${level}: ${message}`),
  };
  return host;
}

/** Delays that are short enough for tests, in the proportions of `TIMING`. */
export const FAST: Timing = {
  reconnectBaseMs: 10,
  reconnectMaxMs: 100,
  stableMs: 60_000,
  faultRetryMs: 200,
  stuckRetryMs: 50,
};

export const submission = (more: Partial<Submission> = {}): Submission => ({
  messageId: '018f0000-0000-7000-8000-000000000001',
  destination: '+351912345678',
  sender: 'ACME',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
  ...more,
});

/** Polls until the condition holds; fails after a minute. */
export const until = (condition: () => boolean): Promise<void> =>
  vi.waitFor(
    () => {
      if (!condition()) throw new Error(`not in time: ${condition.toString()}`);
    },
    { timeout: 60_000, interval: 2 },
  );

export function makeCarrier(peer: { port: number }, settings: object = {}, timing: Timing = FAST): Carrier {
  const parsed = parseSmppSettings({ host: '127.0.0.1', port: peer.port, systemId: 'gw1', ...settings });
  return createSmppCarrier(parsed, { password: 'secret08' }, timing);
}

export type Bench = { readonly peer: ScriptedPeer; readonly carrier: Carrier; readonly host: TestHost };

/** Starts a scripted peer and a carrier that is bound to it; both end with the test. */
export async function bound(script: Script = () => false, settings: object = {}): Promise<Bench> {
  const peer = await startScriptedPeer({ script });
  const carrier = makeCarrier(peer, settings);
  const host = createTestHost();
  onTestFinished(async () => {
    await carrier.stop(0);
    await peer.close();
  });
  carrier.start(host);
  await until(() => carrier.room() > 0);
  return { peer, carrier, host };
}

export const submitMany = (carrier: Carrier, count: number): Promise<Outcome>[] =>
  Array.from({ length: count }, (_, index) =>
    carrier.submit(submission({ destination: `+3519${String(index).padStart(8, '0')}` })),
  );

export const kinds = (outcomes: readonly Outcome[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { kind } of outcomes) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
};
