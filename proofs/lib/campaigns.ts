import { createAndConfirm } from '../../test/support/campaigns/campaign.ts';
import type { Client } from '../../test/support/client.ts';
import type { Stage } from './stage.ts';

/**
 * Returns a distinct mobile number for each recipient; its last four digits request no special outcome from the
 * sandbox.
 */
export const mobileOf = (n: number): string =>
  `+39333${String(Math.floor(n / 9000)).padStart(3, '0')}${String(n % 9000).padStart(4, '0')}`;

/** Creates and confirms a campaign to these numbers; returns its id. */
export const sendCampaign = (client: Client, destinations: readonly string[], more: object = {}): Promise<number> =>
  createAndConfirm(client, { destinations, smsSender: 'Acme', smsBody: 'Hello {{name}}', ...more });

type Counts = { recipients: number; skipped: number; messages: number; status: number };

/** Returns the progress of a campaign; undefined while the database is away. */
export async function findCampaignProgress({ pool }: Stage, id: number): Promise<Counts | undefined> {
  const { rows } = await pool
    .query<Counts>(
      `SELECT r.recipients, r.skipped, r.messages, c.status FROM campaign_run r
       JOIN campaign c ON c.account_id = r.account_id AND c.id = r.campaign_id WHERE c.id = $1`,
      [id],
    )
    .catch(() => ({ rows: [] }));
  return rows[0];
}

/** Lists the messages of a campaign in the order in which they were made. */
export async function listMessages({ pool }: Stage, id: number): Promise<{ id: string; destination: string }[]> {
  const { rows } = await pool.query<{ id: string; destination: string }>(
    'SELECT id, destination FROM message WHERE campaign_id = $1 ORDER BY id',
    [id],
  );
  return rows;
}
