import { queryOptions } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { DeleteIcon } from '../ui/actions.tsx';
import { questionTexts } from '../ui/dialog.tsx';
import { OPERATOR } from './shared.tsx';

type DeleteProps = {
  readonly path: typeof RULES | typeof REGISTERED | typeof POOLS;
  readonly id: number;
  /** Name of the deleted item in the user's terms. */
  readonly of: string;
};

/** Deletes a rule, a registered sender or a pool, after a confirmation. */
export function DeleteRule({ path, id, of }: DeleteProps) {
  const { t } = useTranslation('operator');
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('senderRule.delete.label', { of })}
      question={{
        ...questionTexts(t, 'senderRule.delete', { of }),
        run: () => ok(api.DELETE(`${path}/{id}`, { params: { path: { id } } })),
        refresh: SENDER_RULE_KEYS,
      }}
    />
  );
}

const OBLIGATIONS = '/api/operator/v1/sender-obligations';
export const RULES = '/api/operator/v1/sender-rules';
export const REGISTERED = '/api/operator/v1/registered-senders';
export const POOLS = '/api/operator/v1/number-pools';

const KEY = ['operator', 'sender-rules'] as const;
export const SENDER_RULE_KEYS = [KEY] as const;

const listObligations = (signal: AbortSignal) => ok(api.GET(OBLIGATIONS, { signal }));
export type SenderObligation = Awaited<ReturnType<typeof listObligations>>['data'][number];
const listRules = (signal: AbortSignal) => ok(api.GET(RULES, { signal }));
const listRegistered = (signal: AbortSignal) => ok(api.GET(REGISTERED, { signal }));
const listPools = (signal: AbortSignal) => ok(api.GET(POOLS, { signal }));
export type SenderRule = Awaited<ReturnType<typeof listRules>>['data'][number];
export type RegisteredSender = Awaited<ReturnType<typeof listRegistered>>['data'][number];
export type NumberPool = Awaited<ReturnType<typeof listPools>>['data'][number];

export const obligationsQuery = queryOptions({
  queryKey: [...KEY, 'obligations'],
  queryFn: ({ signal }) => listObligations(signal),
});
export const rulesQuery = queryOptions({
  queryKey: [...KEY, 'rules'],
  queryFn: ({ signal }) => listRules(signal),
});
export const registeredQuery = queryOptions({
  queryKey: [...KEY, 'registered'],
  queryFn: ({ signal }) => listRegistered(signal),
});
export const poolsQuery = queryOptions({
  queryKey: [...KEY, 'pools'],
  queryFn: ({ signal }) => listPools(signal),
});

export const POLICIES = ['allowed', 'replaced', 'refused'] as const;
export const REGISTRATION_STATUSES = ['PENDING', 'ACTIVE', 'REJECTED', 'EXPIRED'] as const;
