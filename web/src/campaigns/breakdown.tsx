import { Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import lists from '../ui/choice-list.module.css';
import { moneyColumn, numberColumn } from '../ui/columns.tsx';
import { useFormat } from '../ui/format.ts';
import { useIsPhone } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { ChannelBadge, Money } from '../ui/values.tsx';
import type { Price } from './campaign.ts';

/** The price by channel, country and number of parts. */
export function Breakdown({ price }: { readonly price: Price }) {
  return useIsPhone() ? <Lines price={price} /> : <Figures price={price} />;
}

type PriceProps = { readonly price: Price };

const keyOf = ({ channel, country, parts, unitPrice }: Price['breakdown'][number]): string =>
  `${channel} ${country} ${parts} ${unitPrice}`;

/** On narrow windows, one block per line of the price instead of a table. */
function Lines({ price: { breakdown, currency } }: PriceProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const country = useCountryName();
  return (
    <ul className={lists.lists} aria-label={t('breakdown.label')}>
      {breakdown.map((line) => (
        <li key={keyOf(line)} className={lists.list}>
          <Stack gap={4}>
            <Group gap="xs">
              <ChannelBadge channel={line.channel} />
              <Text size="sm">{country(line.country)}</Text>
            </Group>
            <Text size="xs" c="dimmed" className="tabular">
              {t('breakdown.line', {
                count: line.count,
                shown: format.number(line.count),
                parts: format.number(line.parts),
                unitPrice: format.money(line.unitPrice, currency),
              })}
            </Text>
          </Stack>
          <Text size="sm" fw={500} component="span">
            <Money amount={line.price} currency={currency} />
          </Text>
        </li>
      ))}
    </ul>
  );
}

function Figures({ price: { breakdown, currency, price } }: PriceProps) {
  const { t } = useTranslation('campaigns');
  const country = useCountryName();
  return (
    <SmallTable
      label={t('breakdown.label')}
      rows={breakdown}
      rowId={keyOf}
      columns={[
        { id: 'channel', header: t('breakdown.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
        { id: 'country', header: t('breakdown.country'), cell: (line) => country(line.country) },
        numberColumn('count', t('breakdown.count')),
        numberColumn('parts', t('breakdown.parts')),
        moneyColumn('unitPrice', t('breakdown.unitPrice'), currency),
        moneyColumn('price', t('breakdown.price'), currency),
      ]}
      footer={
        <>
          <td colSpan={5}>{t('breakdown.total')}</td>
          <td data-align="right">
            <Text component="span" size="sm" fw={600}>
              <Money amount={price} currency={currency} />
            </Text>
          </td>
        </>
      }
    />
  );
}

/** Returns a function that names a country by its code, in the user's language. */
export function useCountryName(): (code: string) => string {
  const { t, i18n } = useTranslation('campaigns');
  return useMemo(() => {
    const names = new Intl.DisplayNames(i18n.language, { type: 'region' });
    return (code) => (/^[A-Z]{2}$/.test(code) ? (names.of(code) ?? code) : t('breakdown.noCountry'));
  }, [i18n.language, t]);
}
