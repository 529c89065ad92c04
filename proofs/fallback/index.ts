import { RCS_TEMPLATES } from '../../src/sandbox/sandbox.ts';
import { findCampaignProgress, sendCampaign } from '../lib/campaigns.ts';
import type { PollResult } from '../lib/poll.ts';
import type { Findings, Mode, Proof, Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';
import { AFTER_MS, AFTER_SECONDS, AGENT } from './network.ts';
import { openRace } from './race.ts';

type Size = { readonly recipients: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { recipients: 200, kills: 1 },
  quick: { recipients: 3000, kills: 4 },
  full: { recipients: 100_000, kills: 40 },
};

export const fallback: Proof = {
  promise: 'A recipient not reached on one channel is tried on the next, and no recipient ever gets two copies.',
  sabotage: {
    fault: 'on a time-out the next channel is tried without revoking the first message',
    module: new URL('../sabotage/fallback.ts', import.meta.url),
    breaks: ['no recipient gets two copies'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { recipients, kills } = SIZES[run.mode];
  await using race = await openRace(run, recipients);
  const { stage, destinations } = race;
  const rcs = { rcsAgentId: AGENT, rcsTemplateId: RCS_TEMPLATES[0]?.id };
  const id = await sendCampaign(stage.client, destinations, { sendingMode: 'RCS_SMS', ...rcs });
  const settings = JSON.stringify({ after: { RCS: AFTER_SECONDS } });
  await stage.pool.query('UPDATE campaign SET fallback = $1 WHERE id = $2', [settings, id]);
  const crew = await race.startCrew();
  await race.killWorkers(crew, kills, 2 * AFTER_MS);
  return await race.conclude(crew, { recipients }, () => pollPending(stage, id));
}

/**
 * Checks once that nothing is pending that could lead to another message. A batch that is due much later than any time
 * of this proof contains only messages in doubt.
 */
async function pollPending(stage: Stage, id: number): Promise<PollResult> {
  const query = `SELECT (SELECT count(*) FROM campaign_batch WHERE campaign_id = $1 AND due_at < now() + interval '2 minutes')
    + (SELECT count(*) FROM campaign_outcome) + (SELECT count(*) FROM dispatch_chunk)
    + (SELECT count(*) FROM campaign_lane WHERE campaign_id = $1 AND NOT done) AS open`;
  const { rows } = await stage.pool.query<{ open: number }>(query, [id]);
  const campaign = await findCampaignProgress(stage, id);
  const done = rows[0]?.open === 0 && campaign !== undefined && campaign.messages > 0;
  return { done, progress: JSON.stringify([rows, campaign]) };
}
