import { loadConfig } from '../../src/core/config.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import type { Outcome } from '../../src/sandbox/rbm-script.ts';
import { type SandboxRbm, startSandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { RCS_TEMPLATES } from '../../src/sandbox/sandbox.ts';
import { assignSender } from '../../src/templates/assignments.ts';
import { insertTemplate } from '../../src/templates/store.ts';
import type { Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';

const NAME = 'rcs';
/** The identity of the RCS agent. */
export const AGENT = 'acme';
/** The time-out before the next channel is tried; shorter than what a client may ask for. */
export const AFTER_SECONDS = 3;
export const AFTER_MS = AFTER_SECONDS * 1000;

const deliveredAfter = (afterMs: number): Outcome => ({ steps: [{ event: 'DELIVERED', afterMs }] });
/** Outcomes of messages in the network, by the last digit of the number. */
const OUTCOMES: readonly Outcome[] = [
  deliveredAfter(300),
  { ...deliveredAfter(1000), unreported: true },
  { doubled: true, early: true },
  { steps: [] },
  deliveredAfter(3 * AFTER_MS),
  deliveredAfter(AFTER_MS + 100),
  { refuse: 'NOT_FOUND' },
  { ...deliveredAfter(500), silentTimes: 1000 },
  {
    steps: [
      { event: 'TTL_EXPIRATION_REVOKE_FAILED', afterMs: 1000 },
      { event: 'DELIVERED', afterMs: 1500 },
    ],
  },
  deliveredAfter(AFTER_MS + 1500),
];
const ENDINGS = Array.from({ length: 9000 }, (_, n) => String(n).padStart(4, '0'));

/**
 * Starts an RCS network that takes `tps` messages per second, and whose events are late, lost, doubled, contradictory or
 * missing. Connects the gateway to it, which does not know that limit.
 */
export async function openNetwork(
  run: Run,
  { pool, gateway, environment }: Stage,
  { tps }: { readonly tps: number },
): Promise<SandboxRbm> {
  const rbm = await startSandboxRbm({
    agents: [AGENT],
    script: {
      seed: run.seed,
      tps,
      missingEventShare: 0.1,
      doubleEventShare: 0.1,
      reorderEventShare: 0.2,
      reorderMs: 1500,
      dropAnswerShare: 0.01,
      cutShare: 0.01,
      keepMessages: 200_000,
      forgetsRevoked: true,
      dropRevokeShare: 0.02,
      outcomes: Object.fromEntries(ENDINGS.map((ending, n) => [ending, OUTCOMES[n % OUTCOMES.length] ?? {}])),
    },
  });
  const key = await loadSecretKey(loadConfig(environment));
  const settings = { baseUrl: rbm.baseUrl, concurrency: 200, requestTimeoutSeconds: 2, resends: 1 };
  const link = { name: NAME, kind: 'rcs', settings, secret: rbm.secrets, sandbox: false } as const;
  const { id: connectionId } = await createConnection(pool, key, link);
  await assignSender(pool, { channel: 'RCS', identity: AGENT, connectionId, ownerId: null, name: 'Acme' });
  const common = { ownerId: null, status: 'APPROVED', headerLink: null, connectionId: null, language: '' } as const;
  for (const template of RCS_TEMPLATES)
    await insertTemplate(pool, { ...template, ...common, channel: 'RCS', category: '', named: true });
  await notifyRoutingChange(pool);
  if (!(await rbm.setCallback(`${String(gateway.ready['address'])}/api/callbacks/rcs/${NAME}`)))
    throw new Error("the gateway does not accept the network's callbacks");
  return rbm;
}
