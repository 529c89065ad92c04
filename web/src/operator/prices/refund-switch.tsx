import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { nameOf } from './price-cell.tsx';
import { type Price, PRICE_KEYS, setPrice } from './price.ts';

/** Whether what was not delivered is given back. */
export function RefundSwitch({ price }: { readonly price: Price }) {
  const { t } = useTranslation('operator');
  const saving = useAction({
    run: (refundUndelivered: boolean) =>
      setPrice({ channel: price.channel, prefix: price.prefix, price: price.price, refundUndelivered }),
    refresh: PRICE_KEYS,
    done: t('price.saved', { of: nameOf(price) }),
  });
  return (
    <Switch
      size="sm"
      checked={price.refundUndelivered}
      disabled={saving.busy}
      onChange={(event) => saving.run(event.currentTarget.checked)}
      aria-label={t('price.refundOf', { of: nameOf(price) })}
    />
  );
}
