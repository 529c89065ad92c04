import { SimpleGrid } from '@mantine/core';
import { Clock, Hourglass, ListOrdered, Webhook } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import type { Queues } from './queue.ts';

type FiguresProps = { readonly queues: Queues | undefined };

/** The key figures of the queues. */
export function Figures({ queues }: FiguresProps) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const oldest = (seconds: number | null | undefined): string | undefined =>
    seconds === undefined
      ? undefined
      : seconds === null
        ? t('queue.nothingDue')
        : t('queue.oldest', { age: format.duration(seconds) });
  const { messages, webhooks } = queues ?? {};
  const figure = (count: number | undefined) => (count === undefined ? undefined : <Num value={count} />);
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('queue.due')}
        value={figure(messages?.waiting)}
        note={oldest(messages?.oldestSeconds)}
        icon={ListOrdered}
      />
      <Stat
        label={t('queue.inFlight')}
        value={figure(messages?.inFlight)}
        note={t('queue.inFlightNote')}
        icon={Hourglass}
      />
      <Stat
        label={t('queue.scheduled')}
        value={figure(messages?.scheduled)}
        note={messages && t('queue.parked', { count: messages.parked, shown: format.number(messages.parked) })}
        icon={Clock}
      />
      <Stat
        label={t('queue.webhooks')}
        value={webhooks && <Num value={webhooks.fresh + webhooks.retrying} />}
        note={
          webhooks &&
          t('queue.webhooksNote', { retrying: format.number(webhooks.retrying), dead: format.number(webhooks.dead) })
        }
        icon={Webhook}
      />
    </SimpleGrid>
  );
}
