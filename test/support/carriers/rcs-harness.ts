import { onTestFinished, vi } from 'vitest';
import type { Carrier, CarrierHost, Submission } from '../../../src/channels/carrier.ts';
import { createRcsCarrier } from '../../../src/channels/rcs/carrier.ts';
import { parseRcsSettings, type RcsSecrets, type RcsSettings } from '../../../src/channels/rcs/settings.ts';
import type { RbmScript } from '../../../src/sandbox/rbm-script.ts';
import { type SandboxRbm, type SandboxRbmOptions, startSandboxRbm } from '../../../src/sandbox/rbm-server.ts';

/** A timeout for tests that wait for it; other tests must not reach theirs, however busy the machine is. */
export const QUICK = { requestTimeoutSeconds: 0.3 };
const PAUSES = { throttlePauseMs: 20, faultPauseSeconds: 0.1 };

export const AGENT = 'sandbox@rbm.goog';
export const NUMBER = '+351912345678';

export const submission = (more: Partial<Submission> = {}): Submission => ({
  messageId: '018f0000-0000-7000-8000-000000000001',
  destination: NUMBER,
  sender: AGENT,
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
  ...more,
});

export type TestHost = CarrierHost & { readonly failures: string[]; readonly logs: string[] };

export function createTestHost(): TestHost {
  const failures: string[] = [];
  const logs: string[] = [];
  return {
    failures,
    logs,
    receipt: () => Promise.resolve(),
    inbound: () => Promise.resolve(),
    changed: () => undefined,
    failed: (reason) => void failures.push(reason),
    log: (level, message) => void logs.push(`${level}: ${message}`),
  };
}

export const until = (condition: () => boolean): Promise<void> =>
  vi.waitFor(
    () => {
      if (!condition()) throw new Error(`not in time: ${condition.toString()}`);
    },
    { timeout: 60_000, interval: 2 },
  );

let privateKey: string | undefined;

/** Starts a simulator for one test; all share one key, since generating one takes a tenth of a second. */
export async function startRbm(script: Partial<RbmScript> = {}, options: SandboxRbmOptions = {}): Promise<SandboxRbm> {
  const rbm = await startSandboxRbm({ ...options, script, ...(privateKey !== undefined && { privateKey }) });
  privateKey = rbm.secrets.privateKey;
  onTestFinished(() => rbm.close());
  return rbm;
}

export function makeCarrier(
  rbm: Pick<SandboxRbm, 'baseUrl' | 'secrets'>,
  settings: Partial<RcsSettings> = {},
  secrets: Partial<RcsSecrets> = {},
): Carrier {
  const parsed = parseRcsSettings({ baseUrl: rbm.baseUrl, ...PAUSES, ...settings });
  return createRcsCarrier(parsed, { ...rbm.secrets, ...secrets });
}

export type Bench = { readonly rbm: SandboxRbm; readonly carrier: Carrier; readonly host: TestHost };

/** Starts a simulator and a carrier that is up; both end with the test. */
export async function connected(script: Partial<RbmScript> = {}, settings: Partial<RcsSettings> = {}): Promise<Bench> {
  const rbm = await startRbm(script);
  const carrier = makeCarrier(rbm, settings);
  const host = createTestHost();
  onTestFinished(() => carrier.stop(0));
  carrier.start(host);
  await until(() => carrier.room() > 0);
  return { rbm, carrier, host };
}
