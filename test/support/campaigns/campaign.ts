import type { Client } from '../client.ts';
import { until } from '../until.ts';

export const CAMPAIGNS = '/api/partner-gateway/v1/campaigns';

/** The fields of a campaign that tests read. */
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
  readonly totalCancelled: number;
  readonly actualCost: number;
  readonly progress: number;
};

/** Sends a request and expects this status; throws on any other. */
async function requestExpecting(
  client: Client,
  status: number,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await client.request(method, `${CAMPAIGNS}${path}`, { body });
  if (answer.status !== status)
    throw new Error(`${method} ${path} returned ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Creates a campaign, calculates its price and confirms it. Returns its id. */
export async function createAndConfirm(client: Client, settings: object): Promise<number> {
  const body = {
    name: 'Spring',
    sendingMode: 'SMS',
    smsSender: 'ACME',
    smsBody: 'Hello',
    readyToSend: true,
    ...settings,
  };
  const { id } = (await requestExpecting(client, 201, 'POST', '', body)) as { id: number };
  await requestExpecting(client, 200, 'POST', `/${id}/calculateGoal`);
  await requestExpecting(client, 202, 'PUT', `/${id}/confirm`);
  return id;
}

export const findOne = async (client: Client, id: number): Promise<CampaignRecord> =>
  (await requestExpecting(client, 200, 'GET', `/${id}`)) as CampaignRecord;

export const move = (client: Client, id: number, what: 'pause' | 'resume' | 'cancel'): Promise<unknown> =>
  requestExpecting(client, 200, 'PUT', `/${id}/${what}`);

/** Waits until a campaign has ended, and returns it. */
export const untilEnded = (client: Client, id: number, deadlineMs?: number): Promise<CampaignRecord> =>
  until(
    `the end of campaign ${id}`,
    async () => {
      const campaign = await findOne(client, id);
      return campaign.status > 2 && campaign;
    },
    deadlineMs,
  );

/** Returns this many distinct mobile numbers of a country. */
export const mobileNumbers = (count: number, prefix = '+39333', from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(from + i).padStart(7, '0')}`);
