import { SimpleGrid } from '@mantine/core';
import { Activity, CircleX, Coins, MailCheck, Send } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/values/format.ts';
import { Money } from '../ui/values/money.tsx';
import { Num, Percent } from '../ui/values/num.tsx';
import { Stat } from '../ui/values/stat.tsx';
import type { Overview } from './overview.ts';

const ONE_DIGIT = { maximumFractionDigits: 1 };

/** The current figures and those of today. */
export function Figures({ overview }: { readonly overview: Overview | undefined }) {
  const { t } = useTranslation('overview');
  const rate = overview?.rate;
  const showsCredit = useSession().may({ scope: 'money' });
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing={{ base: 'xs', md: 'md' }}>
      <Stat
        label={t('figure.rate')}
        value={rate && <Num value={rate.accepted} options={ONE_DIGIT} />}
        note={rate && <RateNote rate={rate} />}
        icon={Activity}
      />
      {overview ? (
        <Today overview={overview} />
      ) : (
        TODAY.filter((name) => name !== 'credit' || showsCredit).map((name) => (
          <Stat key={name} label={t(`figure.${name}`)} value={undefined} />
        ))
      )}
    </SimpleGrid>
  );
}

const TODAY = ['sent', 'delivered', 'failed', 'credit'] as const;

function RateNote({ rate }: { readonly rate: Overview['rate'] }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { delivered, failed } = rate;
  if (delivered === null || failed === null) return t('figure.rateFirst');
  const counts = { delivered: format.number(delivered, ONE_DIGIT), failed: format.number(failed, ONE_DIGIT) };
  return t('figure.rateNote', counts);
}

function Today({ overview: { totals, credit } }: { readonly overview: Overview }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { sent, delivered, failed, pending, cost } = totals.today;
  const ended = delivered + failed;
  return (
    <>
      <Stat
        label={t('figure.sent')}
        value={<Num value={sent} />}
        note={credit !== null && t('figure.cost', { cost: format.money(cost, credit.currency) })}
        icon={Send}
      />
      <Stat
        label={t('figure.delivered')}
        value={<Percent share={ended === 0 ? null : delivered / ended} />}
        note={t('figure.deliveredNote', { delivered: format.number(delivered), pending: format.number(pending) })}
        icon={MailCheck}
      />
      <Stat
        label={t('figure.failed')}
        value={<Num value={failed} />}
        note={ended > 0 && t('figure.failedNote', { share: format.percent(failed / ended) })}
        icon={CircleX}
      />
      {credit && (
        <Stat
          label={t('figure.credit')}
          value={
            credit.unlimited ? t('figure.unlimited') : <Money amount={credit.available} currency={credit.currency} />
          }
          note={t('figure.frozen', { frozen: format.money(credit.frozen, credit.currency) })}
          icon={Coins}
        />
      )}
    </>
  );
}
