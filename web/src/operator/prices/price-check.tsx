import { Alert, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { Section } from '../../ui/section.tsx';
import { CHANNELS } from '../accounts/account.ts';
import { NumberCheck } from '../shared/number-check.tsx';
import { type Channel, type Price, PRICES } from './price.ts';

/** A lookup of the price for a phone number. */
export function PriceCheck() {
  const { t } = useTranslation('operator');
  const [channel, setChannel] = useState<Channel>('SMS');
  const [number, setNumber] = useState('');
  const { data, error } = useQuery({
    queryKey: ['operator', 'prices', 'check', channel, number],
    queryFn: ({ signal }) => ok(api.GET(`${PRICES}/check`, { params: { query: { channel, number } }, signal })),
    enabled: number !== '',
  });
  const select = (
    <NativeSelect
      label={t('channel')}
      data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
      value={channel}
      onChange={(event) => setChannel(CHANNELS.find((each) => each === event.currentTarget.value) ?? 'SMS')}
    />
  );
  return (
    <Section title={t('price.check.title')}>
      <NumberCheck label={t('number')} value={number} onChange={setNumber} before={select}>
        {error && <ErrorState error={error} />}
        {data && <Answer price={data.price} />}
      </NumberCheck>
    </Section>
  );
}

function Answer({ price }: { readonly price: Price | null }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { currency } = useSession().account;
  if (price === null)
    return (
      <Alert color="amber" role="status">
        {t('price.check.none')}
      </Alert>
    );
  return (
    <Text role="status">
      {t(price.channel === 'SMS' ? 'price.check.perPart' : 'price.check.perMessage', {
        price: format.money(price.price, currency),
        prefix: price.prefix === '' ? t('prefix.all') : `+${price.prefix}`,
      })}
    </Text>
  );
}
