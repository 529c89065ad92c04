import { api, ok, type Paths } from '../api/client.ts';
import type { Need } from '../api/session.ts';

const PG = '/api/partner-gateway/v1';
export const CAMPAIGNS = `${PG}/campaigns` as const;
export const ONE = `${CAMPAIGNS}/{id}` as const;

/** What one needs to change campaigns. */
export const NEED: Need = { scope: 'campaigns', write: true };

export type CampaignQuery = NonNullable<Paths[typeof CAMPAIGNS]['get']['parameters']['query']>;

export const listCampaigns = (query: CampaignQuery, signal?: AbortSignal) =>
  ok(api.GET(CAMPAIGNS, { params: { query }, signal }));

export const findCampaign = (id: number, signal?: AbortSignal) =>
  ok(api.GET(ONE, { params: { path: { id } }, signal }));

/** One campaign; `destinations` is left out of lists. */
export type Campaign = Awaited<ReturnType<typeof findCampaign>>;
export type CampaignIn = NonNullable<Paths[typeof CAMPAIGNS]['post']['requestBody']>['content']['application/json'];
export type SendingMode = Campaign['sendingMode'];
export type Channel = 'SMS' | 'RCS' | 'WHATSAPP';

/** The channels of each mode, in the order in which they are tried. */
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

/** The five statuses of the specification, and what the other fields tell beside them: as `CampaignStatus` shows it. */
export type State = 'DRAFT' | 'READY' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

type Told = Pick<Campaign, 'status' | 'paused' | 'cancelled' | 'confirmedAt'>;

export function stateOf({ status, paused, cancelled, confirmedAt }: Told): State {
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

/** Not confirmed: everything may still be changed. */
export const isOpen = ({ confirmedAt }: Pick<Campaign, 'confirmedAt'>): boolean => confirmedAt === null;

/** Not begun: it can be deleted, and its credit returns. */
export const isDeletable = ({ status }: Pick<Campaign, 'status'>): boolean => status < STATUS.SENDING;

export const isUnderWay = ({ status }: Pick<Campaign, 'status'>): boolean => status === STATUS.SENDING;

/** What was cancelled is at 2 until everything that carriers have has come to an end. */
export const isOver = ({ status }: Pick<Campaign, 'status'>): boolean => status > STATUS.SENDING;

/** The specification's form of a date is not one that `Date` reads everywhere. */
export const toIso = (scheduledDate: string): string =>
  scheduledDate.replace(' ', 'T').replace(/([+-]\d{2})(\d{2})$/, '$1:$2');

/** A draft with the same settings; its time is left out, since it may be over. */
export async function duplicateCampaign({ id, name }: { id: number; name: string }): Promise<Campaign> {
  const campaign = await findCampaign(id);
  const { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = campaign;
  const { whatsappTemplateId, contactListIds, destinations, fallback, quietHours, rate } = campaign;
  const body = {
    name,
    description,
    sendingMode,
    smsSender,
    smsBody,
    rcsAgentId,
    rcsTemplateId,
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
