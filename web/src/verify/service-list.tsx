import { Group } from '@mantine/core';
import { Pencil, ShieldCheck } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon, GuardedIcon } from '../ui/actions.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { EmptyState, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { ChannelOrder, Money, StatusBadge, type Tone } from '../ui/values.tsx';
import { NEED, type Service, VERIFY, VERIFY_KEYS } from './services.ts';

/** The dialog that adds or changes a service; loaded when it is opened. */
const ServiceDialog = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.ServiceDialog })));

export function AddService() {
  const { t } = useTranslation('verify');
  return (
    <AddButton need={NEED} onClick={() => openDialog(<ServiceDialog />)}>
      {t('service.add.open')}
    </AddButton>
  );
}

/** Placeholder of the page until the account has a service. */
export function NoServices() {
  const { t } = useTranslation('verify');
  return (
    <EmptyState
      icon={ShieldCheck}
      title={t('services.none')}
      text={t('services.noneText')}
      help="how-to/verify#send-and-check-a-code"
    >
      <AddService />
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
export function Services({ services }: { readonly services: readonly Service[] }) {
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
            cell: (service) => <ServiceActions service={service} />,
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

function ServiceActions({ service }: { readonly service: Service }) {
  const { t } = useTranslation('verify');
  const { id, name } = service;
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <GuardedIcon
        need={NEED}
        label={t('service.change.label', { name })}
        onClick={() => openDialog(<ServiceDialog service={service} />)}
      >
        <Pencil size={16} />
      </GuardedIcon>
      <DeleteIcon
        need={NEED}
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
