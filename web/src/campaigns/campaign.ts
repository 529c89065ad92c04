import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok, type Paths } from '../api/send.ts';
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
type State = 'DRAFT' | 'READY' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

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
async function duplicateCampaign({ id, name }: { id: number; name: string }): Promise<Campaign> {
  const campaign = await findCampaign(id);
  const { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = campaign;
  const { rcsTrafficType, whatsappTemplateId, contactListIds, destinations, fallback, quietHours, rate } = campaign;
  const { purpose, respectCalendar, encoding, weeklyCap, tlvs } = campaign;
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
    purpose,
    respectCalendar,
    encoding,
    weeklyCap,
    tlvs,
    rate,
    ...(contactListIds.length > 0 ? { contactListIds } : { destinations: destinations ?? [] }),
    readyToSend: false,
  };
  return ok(api.POST(CAMPAIGNS, { body }));
}

type ListQuery = { readonly search?: string; readonly id?: string; readonly isTest?: boolean; readonly limit: number };

const listLists = (query: ListQuery, signal: AbortSignal) =>
  ok(api.GET('/api/partner-gateway/v1/contacts/list', { params: { query }, signal }));

export type ContactList = Awaited<ReturnType<typeof listLists>>['data'][number];

/** The contact lists that match a query. */
export const useLists = (query: ListQuery, enabled = true) =>
  useQuery({
    queryKey: ['lists', 'to-choose', query],
    queryFn: ({ signal }) => listLists(query, signal),
    placeholderData: keepPreviousData,
    enabled,
  });

/** Maximum price of a campaign, and its parts. Amounts are null for users who may not see them. */
export type Price = {
  readonly currency: string;
  readonly price: number | null;
  readonly breakdown: readonly {
    readonly channel: string;
    /** ISO 3166-1 alpha-2; empty if the numbers belong to no country. */
    readonly country: string;
    readonly parts: number;
    readonly count: number;
    readonly unitPrice: number | null;
    readonly price: number | null;
  }[];
};

/** Duplicates a campaign as a draft and opens it in the editor. */
export function useDuplicate() {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  return useAction({
    run: ({ id, name }: { id: number; name: string }) => duplicateCampaign({ id, name: t('duplicate.name', { name }) }),
    refresh: [['campaigns']],
    done: t('duplicate.done'),
    onDone: ({ id }) => void navigate({ to: '/campaigns/editor', search: { id } }),
  });
}

/** The channels of a sending mode by name, in order: "WhatsApp → SMS". */
export const modeName = (t: TFunction<'campaigns'>, mode: SendingMode): string =>
  chainOf(mode)
    .map((channel) => t(`ui:channel.${channel}`))
    .join(' → ');
