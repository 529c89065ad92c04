import type { Client } from '../client.ts';
import { until } from '../until.ts';

export const CAMPAIGNS = '/api/partner-gateway/v1/campaigns';

/** What tests read of a campaign. */
export type CampaignRecord = {
  readonly id: number;
  readonly status: number;
  readonly paused: boolean;
  readonly failureReason: string | null;
  readonly totalDestinations: number;
  readonly totalSuccess: number;
  readonly totalFailed: number;
  readonly totalPending: number;
  readonly totalSkipped: number;
  readonly actualCost: number;
  readonly progress: number;
};

/** An answer with this status; anything else is thrown. */
async function expecting(
  client: Client,
  status: number,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await client.request(method, `${CAMPAIGNS}${path}`, { body });
  if (answer.status !== status)
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Makes a campaign, has it priced and confirms it. Answers its id. */
export async function confirmNew(client: Client, settings: object): Promise<number> {
  const body = {
    name: 'Spring',
    sendingMode: 'SMS',
    smsSender: 'ACME',
    smsBody: 'Hello',
    readyToSend: true,
    ...settings,
  };
  const { id } = (await expecting(client, 201, 'POST', '', body)) as { id: number };
  await expecting(client, 200, 'POST', `/${id}/calculateGoal`);
  await expecting(client, 202, 'PUT', `/${id}/confirm`);
  return id;
}

export const findOne = async (client: Client, id: number): Promise<CampaignRecord> =>
  (await expecting(client, 200, 'GET', `/${id}`)) as CampaignRecord;

export const move = (client: Client, id: number, what: 'pause' | 'resume' | 'cancel'): Promise<unknown> =>
  expecting(client, 200, 'PUT', `/${id}/${what}`);

/** Waits until a campaign is over, and answers it. */
export const untilOver = (client: Client, id: number, deadlineMs?: number): Promise<CampaignRecord> =>
  until(
    `the end of campaign ${id}`,
    async () => {
      const campaign = await findOne(client, id);
      return campaign.status > 2 && campaign;
    },
    deadlineMs,
  );

/** So many mobile numbers of a country, each once. */
export const numbers = (count: number, prefix = '+39333', from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(from + i).padStart(7, '0')}`);
