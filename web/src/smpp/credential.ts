import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

/** The permission that changes to credentials require. */
export const NEED: Need = { scope: 'keys', write: true };

export const CREDENTIALS = '/api/partner-gateway/v1/smpp/credentials';

export const ALPHABETS = ['gsm', 'latin1', 'ascii', 'utf8'] as const;
export const ID_FORMATS = ['uuid', 'hex', 'decimal'] as const;

type Listed = { readonly page: number; readonly limit: number };

export const listCredentials = ({ page, limit }: Listed, signal: AbortSignal) =>
  ok(api.GET(CREDENTIALS, { params: { query: { page, limit } }, signal }));

export type Credential = Awaited<ReturnType<typeof listCredentials>>['data'][number];

/** The name of a credential, or its system_id if it has none. */
export const nameOf = ({ name, systemId }: Pick<Credential, 'name' | 'systemId'>): string => name || systemId;

/** The settings of a credential as a form has them: lists as lines. */
export type Settings = {
  readonly name: string;
  readonly maxBinds: number;
  readonly window: number;
  /** '' for no separate limit. */
  readonly tps: number | '';
  readonly addresses: string;
  readonly senders: string;
  readonly alphabet: Credential['alphabet'];
  readonly messageIds: Credential['messageIds'];
  readonly inbound: boolean;
};

export const NEW_SETTINGS: Settings = {
  name: '',
  maxBinds: 2,
  window: 50,
  tps: '',
  addresses: '',
  senders: '',
  alphabet: 'gsm',
  messageIds: 'uuid',
  inbound: true,
};

export const settingsOf = ({
  name,
  maxBinds,
  window,
  tps,
  alphabet,
  messageIds,
  inbound,
  ...lists
}: Credential): Settings => ({
  name,
  maxBinds,
  window,
  tps: tps ?? '',
  addresses: lists.addresses.join('\n'),
  senders: lists.senders.join('\n'),
  alphabet,
  messageIds,
  inbound,
});

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The body of a request with these settings. */
export const bodyOf = ({ tps, addresses, senders, ...rest }: Settings) => ({
  ...rest,
  tps: tps === '' ? null : tps,
  addresses: linesOf(addresses),
  senders: linesOf(senders),
});
