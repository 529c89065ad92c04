import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { usePriceName } from '../shared/price-name.ts';
import { type Price, PRICE_KEYS, setPrice } from './price.ts';

/** Switch for refunding undelivered messages. */
export function RefundSwitch({ price }: { readonly price: Price }) {
  const { t } = useTranslation('operator');
  const of = usePriceName()(price);
  const saving = useAction({
    run: (refundUndelivered: boolean) =>
      setPrice({ channel: price.channel, prefix: price.prefix, price: price.price, refundUndelivered }),
    refresh: PRICE_KEYS,
    done: t('price.saved', { of }),
  });
  return (
    <Switch
      size="sm"
      checked={price.refundUndelivered}
      disabled={saving.busy}
      onChange={(event) => saving.run(event.currentTarget.checked)}
      aria-label={t('price.refundOf', { of })}
    />
  );
}
