import { Alert, List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { useFormat } from '../../ui/values/format.ts';

/** The routes priced below cost, with the numbers of the largest loss; nothing if there are none. */
export function UnderCost() {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { data } = useQuery({
    queryKey: ['operator', 'margins', 'under-cost'],
    queryFn: ({ signal }) => ok(api.GET('/api/operator/v1/margins/under-cost', { signal })),
  });
  const numbersOf = (prefix: string): string => (prefix === '' ? t('prefix.all') : `+${prefix}`);
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Alert color="amber" title={t('margin.underCost')}>
      <List size="sm">
        {data.data.map(({ routeId, connection, routePrefix, conditions, prefix, network, price, cost }) => (
          <List.Item key={routeId}>
            {t(network === null ? 'margin.loss' : 'margin.lossInNetwork', {
              route: conditions === null ? numbersOf(routePrefix) : `${numbersOf(routePrefix)} (${conditions})`,
              connection,
              numbers: numbersOf(prefix),
              network,
              price: format.number(price, { maximumFractionDigits: 6 }),
              cost: format.number(cost, { maximumFractionDigits: 6 }),
            })}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
