import { useTranslation } from 'react-i18next';

type Scope = { readonly channel: string; readonly prefix: string };

/** Returns a function that names the subject of a price: "SMS +39" or "RCS, all numbers". */
export function usePriceName() {
  const { t } = useTranslation('operator');
  return ({ channel, prefix }: Scope): string =>
    prefix === ''
      ? t('price.ofAll', { channel: t(`ui:channel.${channel}`) })
      : `${t(`ui:channel.${channel}`)} +${prefix}`;
}
