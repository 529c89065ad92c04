import { api, ok, type Paths } from '../api/client.ts';
import type { Need } from '../api/session.ts';

const PG = '/api/partner-gateway/v1';
export const CAMPAIGNS = `${PG}/campaigns` as const;
export const CAMPAIGN = `${CAMPAIGNS}/{id}` as const;

/** The permission that changes to campaigns require. */
export const NEED: Need = { scope: 'campaigns', write: true };

export type CampaignQuery = NonNullable<Paths[typeof CAMPAIGNS]['get']['parameters']['query']>;

export const listCampaigns = (query: CampaignQuery, signal?: AbortSignal) =>
  ok(api.GET(CAMPAIGNS, { params: { query }, signal }));

export const findCampaign = (id: number, signal?: AbortSignal) =>
  ok(api.GET(CAMPAIGN, { params: { path: { id } }, signal }));

/** One campaign; lists do not include `destinations`. */
export type Campaign = Awaited<ReturnType<typeof findCampaign>>;
export type CampaignIn = NonNullable<Paths[typeof CAMPAIGNS]['post']['requestBody']>['content']['application/json'];
export type SendingMode = Campaign['sendingMode'];
export type Channel = 'SMS' | 'RCS' | 'WHATSAPP';

/** The channels of each sending mode, in the order in which they are tried. */
const CHAINS = {
  SMS: ['SMS'],
  WHATSAPP: ['WHATSAPP'],
  RCS: ['RCS'],
  WHATSAPP_SMS: ['WHATSAPP', 'SMS'],
  RCS_SMS: ['RCS', 'SMS'],
  WHATSAPP_RCS: ['WHATSAPP', 'RCS'],
  WHATSAPP_RCS_SMS: ['WHATSAPP', 'RCS', 'SMS'],
} as const satisfies Readonly<Record<SendingMode, readonly Channel[]>>;

export const MODES = Object.keys(CHAINS).filter((mode): mode is SendingMode => mode in CHAINS);

export const chainOf = (mode: SendingMode): readonly Channel[] => CHAINS[mode];

const STATUS = { DRAFT: 0, READY: 1, SENDING: 2, COMPLETED: 3, FAILED: 4 } as const;

/** The status shown for a campaign: the five of the specification, refined by its other fields. */
export type State = 'DRAFT' | 'READY' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

type StateFields = Pick<Campaign, 'status' | 'paused' | 'cancelled' | 'confirmedAt'>;

export function stateOf({ status, paused, cancelled, confirmedAt }: StateFields): State {
  if (cancelled) return 'CANCELLED';
  if (status === STATUS.DRAFT) return 'DRAFT';
  if (status === STATUS.COMPLETED) return 'COMPLETED';
  if (status === STATUS.FAILED) return 'FAILED';
  if (paused) return 'PAUSED';
  if (status === STATUS.SENDING) return 'SENDING';
  return confirmedAt === null ? 'READY' : 'SCHEDULED';
}

const TONES: Readonly<Partial<Record<State, 'running' | 'done' | 'failed' | 'paused'>>> = {
  PAUSED: 'paused',
  COMPLETED: 'done',
  FAILED: 'failed',
  CANCELLED: 'paused',
};

/** The color of a progress bar for a campaign in its state. */
export const toneOf = (campaign: Campaign) => TONES[stateOf(campaign)] ?? 'running';

/** Returns true if the campaign is not confirmed yet, so that everything can still be changed. */
export const isEditable = ({ confirmedAt }: Pick<Campaign, 'confirmedAt'>): boolean => confirmedAt === null;

/** Returns true if the campaign has not started, so that it can be deleted and its credit returns. */
export const isDeletable = ({ status }: Pick<Campaign, 'status'>): boolean => status < STATUS.SENDING;

export const isSending = ({ status }: Pick<Campaign, 'status'>): boolean => status === STATUS.SENDING;

/**
 * Returns true if the campaign has ended. A cancelled campaign stays at status 2 until all messages at carriers have a
 * final status.
 */
export const isFinished = ({ status }: Pick<Campaign, 'status'>): boolean => status > STATUS.SENDING;

/** Creates a draft with the same settings, without the scheduled time, which may have passed. */
export async function duplicateCampaign({ id, name }: { id: number; name: string }): Promise<Campaign> {
  const campaign = await findCampaign(id);
  const { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = campaign;
  const { rcsTrafficType, whatsappTemplateId, contactListIds, destinations, fallback, quietHours, rate } = campaign;
  const body = {
    name,
    description,
    sendingMode,
    smsSender,
    smsBody,
    rcsAgentId,
    rcsTemplateId,
    rcsTrafficType,
    whatsappPhoneNumberId,
    whatsappTemplateId,
    fallback,
    quietHours,
    rate,
    ...(contactListIds.length > 0 ? { contactListIds } : { destinations: destinations ?? [] }),
    readyToSend: false,
  };
  return ok(api.POST(CAMPAIGNS, { body }));
}
