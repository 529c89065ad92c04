import { ActionIcon, Alert, Group, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Facts } from '../../../ui/values/facts.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { Money } from '../../../ui/values/money.tsx';
import { PhonePreview } from '../../../ui/message/phone-preview.tsx';
import { type Channel, chainOf } from '../../campaign.ts';
import type { Draft } from '../draft.ts';
import { fieldOf, senderQuery, templateQuery } from '../../../api/networks.ts';
import { MAX_OFFSET, type Preview, priceOf, type Sample, type usePreview } from '../preview.ts';

type SamplePreviewProps = {
  readonly draft: Draft;
  readonly preview: ReturnType<typeof usePreview>;
  readonly at: number;
  readonly onMove: (at: number) => void;
};

/** Messages to one recipient on each channel, starting with SMS. */
export function SamplePreview({ draft, preview: { data, error, refetch }, at, onMove }: SamplePreviewProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(draft.sendingMode);
  const [wanted, setWanted] = useState<Channel | null>(null);
  const usual = chain.includes('SMS') ? 'SMS' : (chain[0] ?? 'SMS');
  const channel = wanted !== null && chain.includes(wanted) ? wanted : usual;
  const sender = useSenderName(draft, channel);
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton h={380} />;
  const sample = data.data[0];
  const step = sample?.steps.find((each) => each.channel === channel);
  return (
    <Stack gap="sm">
      {chain.length > 1 && (
        <SegmentedControl
          aria-label={t('text.channel')}
          data={chain.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={setWanted}
        />
      )}
      <Mover sample={sample} total={data.total} at={at} onMove={onMove} />
      <PhonePreview channel={channel} sender={sender} text={step?.text ?? (channel === 'SMS' ? draft.smsBody : '')} />
      {sample && <About sample={sample} channel={channel} currency={data.currency} draft={draft} />}
    </Stack>
  );
}

function useSenderName(draft: Draft, channel: Channel): string {
  const network = channel === 'RCS' ? 'RCS' : 'WHATSAPP';
  const { data = [] } = useQuery({ ...senderQuery(network), enabled: channel !== 'SMS' });
  if (channel === 'SMS') return draft.smsSender;
  const id = channel === 'RCS' ? draft.rcsAgentId : draft.whatsappPhoneNumberId;
  return data.find(({ value }) => value === id)?.label ?? '';
}

type MoverProps = Pick<SamplePreviewProps, 'at' | 'onMove'> & {
  readonly sample: Sample | undefined;
  readonly total: Preview['total'];
};

function Mover({ sample, total, at, onMove }: MoverProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  if (sample === undefined)
    return (
      <Text size="sm" c="dimmed" ta="center">
        {t('text.nobody')}
      </Text>
    );
  return (
    <Group justify="space-between" wrap="nowrap">
      <ActionIcon variant="default" aria-label={t('text.previous')} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <ChevronLeft size={16} />
      </ActionIcon>
      <Stack gap={0} ta="center" style={{ minWidth: 0 }} role="status">
        <Text size="sm" fw={600} truncate dir="auto">
          {sample.name || sample.phoneNumber || t('samples.unnamed')}
        </Text>
        <Text size="xs" c="dimmed" className="tabular">
          {t('text.place', { place: format.number(at + 1), total: format.number(total) })}
        </Text>
      </Stack>
      <ActionIcon
        variant="default"
        aria-label={t('text.next')}
        disabled={at + 1 >= total || at >= MAX_OFFSET}
        onClick={() => onMove(at + 1)}
      >
        <ChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}

type AboutProps = {
  readonly sample: Sample;
  readonly channel: Channel;
  readonly currency: string;
  readonly draft: Draft;
};

/** Returns the note shown as long as there is no text: on SMS it is typed, elsewhere it comes from a template. */
const emptyOf = (channel: Channel): string => (channel === 'SMS' ? 'text.empty' : 'text.emptyTemplate');

/** The fields that this channel's text uses and the recipient does not have. */
function useLacking({ missing }: Sample, channel: Channel, draft: Draft): readonly string[] {
  const network = channel === 'RCS' ? 'RCS' : 'WHATSAPP';
  const { data = [] } = useQuery({ ...templateQuery(network), enabled: channel !== 'SMS' });
  if (channel === 'SMS')
    return missing.filter((name) => draft.smsBody.includes(`{{${name}}}`) || draft.smsBody.includes(`{{${name}|`));
  const id = channel === 'RCS' ? draft.rcsTemplateId : draft.whatsappTemplateId;
  const used = data.find(({ value }) => value === id)?.variables.map(fieldOf) ?? [];
  return missing.filter((name) => used.includes(name));
}

/** Price and parts of this recipient's message, and the values it lacks. */
function About({ sample, channel, currency, draft }: AboutProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const step = sample.steps.find((each) => each.channel === channel);
  const price = step && priceOf(step);
  const isEmpty = sample.skip === 'text' && step?.text === '';
  const lacking = useLacking(sample, channel, draft);
  return (
    <Stack gap="xs">
      {sample.skip !== null && (
        <Alert color="amber">
          {isEmpty ? t(emptyOf(channel)) : t('text.skipped', { reason: t(`skip.${sample.skip}`) })}
        </Alert>
      )}
      {sample.skip === null && step?.reachable === false && (
        <Alert color="amber">{t(step.text === '' ? emptyOf(channel) : 'text.unreachable')}</Alert>
      )}
      {lacking.length > 0 && <Alert color="amber">{t('text.missing', { fields: format.list(lacking) })}</Alert>}
      <Facts
        facts={[
          {
            label: t('text.price'),
            value: price === null || price === undefined ? '–' : <Money amount={price} currency={currency} />,
          },
          ...(channel === 'SMS' && step ? [{ label: t('text.parts'), value: format.number(step.parts) }] : []),
        ]}
      />
    </Stack>
  );
}
