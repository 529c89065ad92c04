import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxRbm } from '../src/carriers/sandbox/rbm/server.ts';
import { RCS_TEMPLATES } from '../src/sandbox/templates.ts';
import { lookAtCampaign, mobileOf, sendCampaign } from './campaigns.ts';
import { claimsOf, copiesOf } from './fallback/copies.ts';
import { AFTER_MS, AFTER_SECONDS, AGENT, openNetwork } from './fallback/network.ts';
import { startCrew } from './kills.ts';
import { untilQuiet } from './messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

type Size = { readonly recipients: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { recipients: 200, kills: 1 },
  quick: { recipients: 3000, kills: 4 },
  full: { recipients: 100_000, kills: 40 },
};
const WORKERS = 2;
/** Longer than what a killed worker was taking back stays its own. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 300;

export const fallback: Proof = {
  promise: 'Whoever is not reached on one channel is tried on the next, and nobody ever gets two copies.',
  sabotage: {
    fault: 'when its time is over the next channel is tried, without taking back what the first one has',
    file: new URL('./sabotage/fallback.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { receiptDelayMs: 50 },
    settings: { window: 100 },
  });
  const rbm = await openNetwork(run, stage);
  try {
    return await race(run, stage, rbm, size);
  } finally {
    await rbm.close();
  }
}

async function race(run: Run, stage: Stage, rbm: SandboxRbm, size: Size): Promise<Findings> {
  const destinations = Array.from({ length: size.recipients }, (_, n) => mobileOf(n));
  const rcs = { rcsAgentId: AGENT, rcsTemplateId: RCS_TEMPLATES[0]?.id };
  const id = await sendCampaign(stage.client, destinations, { sendingMode: 'RCS_SMS', ...rcs });
  const settings = JSON.stringify({ after: { RCS: AFTER_SECONDS } });
  await stage.pool.query('UPDATE campaign SET fallback = $1 WHERE id = $2', [settings, id]);
  const crew = await startCrew(run, stage, WORKERS);
  for (let kill = 0; kill < size.kills; kill++) {
    await delay(between(run, 0, 2 * AFTER_MS));
    await crew.killOne();
  }
  await crew.settled();
  const ended = await untilDecided(stage, id);
  await untilQuiet(stage, PATIENCE_MS);
  const copies = await copiesOf(run, stage, rbm, destinations);
  const figures = { recipients: destinations.length, ...copies, kills: crew.kills };
  return judge(figures, { ...claimsOf(copies), 'all is decided': ended });
}

/** Waits until nothing follows any more, whatever comes; false when that does not come. */
async function untilDecided(stage: Stage, id: number): Promise<boolean> {
  const query = `SELECT (SELECT count(*) FROM campaign_batch WHERE campaign_id = $1 AND due_at IS NOT NULL)
    + (SELECT count(*) FROM campaign_outcome) + (SELECT count(*) FROM dispatch_chunk)
    + (SELECT count(*) FROM campaign_lane WHERE campaign_id = $1 AND NOT done) AS open`;
  let [seen, at] = ['', performance.now()];
  while (performance.now() - at < PATIENCE_MS) {
    const { rows } = await stage.pool.query<{ open: number }>(query, [id]);
    const campaign = await lookAtCampaign(stage, id);
    if (rows[0]?.open === 0 && campaign && campaign.messages > 0) return true;
    const now = JSON.stringify([rows, campaign]);
    if (now !== seen) [seen, at] = [now, performance.now()];
    await delay(LOOK_MS);
  }
  return false;
}
