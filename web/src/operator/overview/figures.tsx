import { SimpleGrid } from '@mantine/core';
import { Building2, Gauge, ListOrdered, Send } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import type { Overview } from './overview.ts';

/** The four key figures of the gateway. */
export function Figures({ overview }: { readonly overview: Overview | undefined }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { perSecond, workers, last24h, queue, accounts } = overview ?? {};
  const ended = (last24h?.delivered ?? 0) + (last24h?.failed ?? 0);
  const share =
    last24h && ended > 0
      ? t('overview.deliveredShare', { share: format.percent(last24h.delivered / ended) })
      : t('overview.noneEnded');
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('overview.perSecond')}
        value={perSecond === undefined ? undefined : <Num value={perSecond} options={{ maximumFractionDigits: 1 }} />}
        note={workers === undefined ? undefined : t('overview.workers', { count: workers })}
        icon={Gauge}
      />
      <Stat
        label={t('overview.sent24h')}
        value={last24h && <Num value={last24h.sent} />}
        note={last24h && share}
        icon={Send}
      />
      <Stat
        label={t('overview.queue')}
        value={queue && <Num value={queue.waiting} />}
        note={
          queue &&
          (queue.oldestSeconds === null
            ? t('queue.nothingDue')
            : t('queue.oldest', { age: format.duration(queue.oldestSeconds) }))
        }
        icon={ListOrdered}
      />
      <Stat
        label={t('overview.accounts')}
        value={accounts && <Num value={accounts.active} />}
        note={accounts && t('overview.suspended', { count: accounts.suspended })}
        icon={Building2}
      />
    </SimpleGrid>
  );
}
