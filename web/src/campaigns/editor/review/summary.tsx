import { Button, Text } from '@mantine/core';
import { Pencil } from 'lucide-react';
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { senderQuery, templateQuery } from '../../../api/networks.ts';
import { Section } from '../../../ui/section.tsx';
import { type Fact, Facts } from '../../../ui/values/facts.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { type Channel, chainOf } from '../../campaign.ts';
import { useLists } from '../../contact-lists.ts';
import { modeName } from '../../mode-name.ts';
import { type Draft, numbersIn, scheduledAt, type StepId } from '../draft.ts';
import { ownZone } from '../../../ui/time-zone/zones.ts';
import { cityOf } from '../time-zone.ts';

type SummaryProps = { readonly draft: Draft; readonly goTo: (step: StepId) => void };

/** Summary of the campaign: its name, senders, recipients and time, each with a link to its step. */
export function Summary({ draft, goTo }: SummaryProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(draft.sendingMode);
  const senders = useSenders(draft, chain);
  const edit = (step: StepId, value: ReactNode) => (
    <Editable label={t('summary.change', { step: t(`step.${step}`) })} onEdit={() => goTo(step)}>
      {value}
    </Editable>
  );
  return (
    <Section title={t('summary.title')} description={t('summary.hint')}>
      <Facts
        facts={[
          { label: t('channels.name'), value: edit('channels', draft.name || '–') },
          { label: t('channels.title'), value: modeName(t, draft.sendingMode) },
          ...senders,
          { label: t('recipients.title'), value: edit('recipients', <Recipients draft={draft} />) },
          { label: t('time.title'), value: edit('time', <When draft={draft} />) },
          { label: t('quiet.title'), value: <Quiet draft={draft} /> },
          ...(draft.rate === '' ? [] : [{ label: t('rate.title'), value: t('rate.value', { count: draft.rate }) }]),
        ]}
      />
    </Section>
  );
}

type EditableProps = { readonly label: string; readonly onEdit: () => void; readonly children: ReactNode };

const Editable = ({ label, onEdit, children }: EditableProps) => (
  <>
    {children}{' '}
    <Button size="compact-xs" variant="subtle" aria-label={label} onClick={onEdit}>
      <Pencil size={13} aria-hidden="true" />
    </Button>
  </>
);

/** The sender and the template of each channel, by name. */
function useSenders(draft: Draft, chain: readonly Channel[]): readonly Fact[] {
  const { t } = useTranslation('campaigns');
  const enabled = (channel: Channel) => ({ enabled: chain.includes(channel) });
  const found = [
    useQuery({ ...senderQuery('WHATSAPP'), ...enabled('WHATSAPP') }),
    useQuery({ ...templateQuery('WHATSAPP'), ...enabled('WHATSAPP') }),
    useQuery({ ...senderQuery('RCS'), ...enabled('RCS') }),
    useQuery({ ...templateQuery('RCS'), ...enabled('RCS') }),
  ];
  const options = found.flatMap(({ data }) => data ?? []);
  const nameOf = (id: string): string => options.find(({ value }) => value === id)?.label ?? (id || '–');
  const facts: Readonly<Record<Channel, readonly (readonly [field: keyof Draft, value: string])[]>> = {
    WHATSAPP: [
      ['whatsappPhoneNumberId', nameOf(draft.whatsappPhoneNumberId)],
      ['whatsappTemplateId', nameOf(draft.whatsappTemplateId)],
    ],
    RCS: [
      ['rcsAgentId', nameOf(draft.rcsAgentId)],
      ['rcsTemplateId', nameOf(draft.rcsTemplateId)],
    ],
    SMS: [['smsSender', draft.smsSender || '–']],
  };
  return chain.flatMap((channel) => facts[channel].map(([field, value]) => ({ label: t(`channels.${field}`), value })));
}

function Recipients({ draft: { recipients, contactListIds, destinations } }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const isLists = recipients === 'lists' && contactListIds.length > 0;
  const { data } = useLists({ id: contactListIds.join(','), limit: 1000 }, isLists);
  if (recipients === 'numbers') {
    const count = numbersIn(destinations).length;
    return <>{t('recipients.numbersCount', { count, shown: format.number(count) })}</>;
  }
  const names = (data?.data ?? []).filter(({ id }) => contactListIds.includes(id)).map(({ name }) => name);
  return <>{names.length > 0 ? format.list(names) : t('note.lists', { count: contactListIds.length })}</>;
}

/** The time in the zone in which it was chosen, and in the user's own if that is another one. */
function When({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const at = scheduledAt(draft);
  if (draft.when === 'now') return <>{t('time.now')}</>;
  if (at === null) return <>–</>;
  return (
    <>
      {t('time.in', { at: format.briefIn(at, draft.zone), zone: cityOf(draft.zone) })}
      {draft.zone !== ownZone() && (
        <Text span size="sm" c="dimmed">
          {' '}
          {t('time.here', { at: format.exact(at) })}
        </Text>
      )}
    </>
  );
}

function Quiet({ draft: { quiet, quietFrom: from, quietTo: to } }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  if (quiet === 'account') return <>{t('quiet.asAccount')}</>;
  return <>{quiet === 'own' ? t('quiet.between', { from, to }) : t('quiet.off')}</>;
}
