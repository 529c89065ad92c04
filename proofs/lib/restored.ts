import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../test/support/client.ts';
import { runOperatorCommand } from '../../test/support/operator.ts';
import { until } from '../../test/support/until.ts';
import { untilSubmits } from './kills.ts';
import type { Stage } from './stage.ts';

export const DECISIONS = ['confirm', 'discard'] as const;

const SUBMITS_TIMEOUT_MS = 20_000;
/**
 * Without the guard the first message is sent within milliseconds of the bind; every loop of a worker runs within this
 * time.
 */
const WATCH_MS = 3000;

/** Behaviour of a gateway with a restored database. */
export type Observed = {
  /** True if it reported that sending is paused, and accepted the decision. */
  readonly wasAsked: boolean;
  /** The messages that waited, and those that campaigns had yet to create. */
  readonly queued: number;
  readonly sentUnasked: number;
  /** True if it accepted a message while sending was paused. */
  readonly accepted: boolean;
  /** True if it sent the messages decided on and the one accepted meanwhile, each once, and nothing else. */
  readonly sentAsDecided: boolean;
};

type Restored = {
  readonly dataDir: string;
  readonly decision: (typeof DECISIONS)[number];
  /** The number that is sent to while sending is paused. */
  readonly lateNumber: string;
  /** Looks at the running gateway before the decision. */
  readonly inspect?: (client: Client) => Promise<void>;
};

/** Starts the gateway on what was restored, watches, decides, counts what is sent, and stops the gateway. */
export async function decideRestored(
  stage: Stage,
  { dataDir, decision, lateNumber, inspect }: Restored,
): Promise<Observed> {
  const operator = { environment: { ...stage.environment, DATA_DIR: dataDir } };
  const before = (await stage.carrier.counts()).submits;
  const { process, client } = await stage.startGateway(operator.environment);
  const isAsked = await isPausedOnceBound(client);
  await inspect?.(client);
  const queued = await countQueued(operator);
  const late = await client.send({ phoneNumber: lateNumber, message: 'Meanwhile' }).catch(() => null);
  await delay(WATCH_MS);
  const sentUnasked = (await stage.carrier.counts()).submits - before;

  const { code } = await runOperatorCommand(operator, 'fence', decision);
  const expected = (decision === 'confirm' ? queued : 0) + 1;
  await untilSubmits(stage, before + expected, SUBMITS_TIMEOUT_MS / 4);
  await process.stop();
  const sent = (await stage.carrier.counts()).submits - before;
  return {
    wasAsked: isAsked && code === 0,
    queued,
    sentUnasked,
    accepted: late !== null,
    sentAsDecided: sent === expected,
  };
}

/** Waits for a bind; returns whether the gateway says that sending is paused. */
async function isPausedOnceBound(client: Client): Promise<boolean> {
  return until('a bind', async () => {
    const { body } = await client.request('GET', '/health/ready');
    const { checks } = body as { checks: Record<string, { ok: boolean }> };
    return checks['carriers']?.ok === true && [checks['sending']?.ok === false];
  }).then(([asked]) => asked === true);
}

type Place = { readonly environment: Readonly<Record<string, string>> };

async function countQueued(place: Place): Promise<number> {
  const { answer } = await runOperatorCommand(place, 'fence', 'show');
  const { unsent, campaigns } = answer as { unsent: { messages: number }[]; campaigns: { recipients: number }[] };
  const unmade = campaigns.reduce((sum, { recipients }) => sum + recipients, 0);
  return unsent.reduce((sum, { messages }) => sum + messages, unmade);
}
