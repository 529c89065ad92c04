import { Group } from '@mantine/core';
import { Pencil, ShieldCheck } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Need, useSession } from '../api/session.ts';
import { AddButton, DeleteIcon, GuardedIcon } from '../ui/actions.tsx';
import { questionTexts } from '../ui/dialog.tsx';
import { EmptyState, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { ChannelOrder, Money, StatusBadge, type Tone } from '../ui/values.tsx';

export const VERIFY = '/api/partner-gateway/v1/verify';
/** The permission that blocks of ranges require. */
export const NEED: Need = { scope: 'verify', write: true };
/** The permission that changes of services and releases of ranges require: only admins have it. */
export const MANAGE_NEED: Need = { scope: 'keys', write: true };
export const VERIFY_KEYS = [['verify']] as const;

export const listServices = () => ok(api.GET(`${VERIFY}/services`));
export type Service = Awaited<ReturnType<typeof listServices>>[number];

/** Opens the dialog that changes a service, or adds one. */
type Edits = { readonly onEdit: (service?: Service) => void };

export function AddService({ onEdit }: Edits) {
  const { t } = useTranslation('verify');
  return (
    <AddButton need={MANAGE_NEED} onClick={() => onEdit()}>
      {t('service.add.open')}
    </AddButton>
  );
}

/** Placeholder of the page until the account has a service. */
export function NoServices({ onEdit }: Edits) {
  const { t } = useTranslation('verify');
  return (
    <EmptyState
      icon={ShieldCheck}
      title={t('services.none')}
      text={t('services.noneText')}
      help="how-to/verify#send-and-check-a-code"
    >
      <AddService onEdit={onEdit} />
    </EmptyState>
  );
}

type Mode = NonNullable<NonNullable<Service['guard']>['mode']>;
const TONES: Readonly<Record<Mode, Tone>> = {
  off: 'warning',
  monitor: 'neutral',
  standard: 'good',
  strict: 'good',
};

/** The services of the account with their channels and guards. */
export function Services({ services, onEdit }: Edits & { readonly services: readonly Service[] }) {
  const { t } = useTranslation('verify');
  const { currency } = useSession().account;
  return (
    <Section title={t('services.title')} description={t('services.description')}>
      <SmallTable<Service>
        label={t('services.title')}
        rows={services}
        rowId={({ id }) => id}
        columns={[
          { id: 'name', header: t('service.name'), cell: ({ name }) => name },
          { id: 'brand', header: t('service.brand'), phone: 'none', cell: ({ brand }) => brand },
          {
            id: 'channels',
            header: t('service.channels'),
            phone: 'none',
            cell: ({ workflow }) => <ChannelOrder channels={workflow.map(({ channel }) => channel)} />,
          },
          {
            id: 'guard',
            header: t('service.mode'),
            cell: ({ guard }) => <GuardMode mode={guard?.mode ?? 'standard'} />,
          },
          {
            id: 'cap',
            header: t('service.maxCostPerDay'),
            align: 'right',
            phone: 'none',
            cell: ({ guard }) => <Money amount={guard?.maxCostPerDay ?? null} currency={currency} />,
          },
          {
            id: 'actions',
            header: '',
            align: 'right',
            cell: (service) => <ServiceActions service={service} onEdit={onEdit} />,
          },
        ]}
      />
    </Section>
  );
}

function GuardMode({ mode }: { readonly mode: Mode }) {
  const { t } = useTranslation('verify');
  return <StatusBadge tone={TONES[mode]}>{t(`mode.${mode}`)}</StatusBadge>;
}

function ServiceActions({ service, onEdit }: Edits & { readonly service: Service }) {
  const { t } = useTranslation('verify');
  const { id, name } = service;
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <GuardedIcon need={MANAGE_NEED} label={t('service.change.label', { name })} onClick={() => onEdit(service)}>
        <Pencil size={16} />
      </GuardedIcon>
      <DeleteIcon
        need={MANAGE_NEED}
        label={t('service.delete.label', { name })}
        question={{
          ...questionTexts(t, 'service.delete', { name }),
          run: () => ok(api.DELETE(`${VERIFY}/services/{id}`, { params: { path: { id } } })),
          refresh: VERIFY_KEYS,
        }}
      />
    </Group>
  );
}
