import { useTranslation } from 'react-i18next';

type Scope = { readonly channel: string; readonly prefix: string };

/** What a price is of, in words: "SMS +39", "RCS, all numbers". */
export function usePriceName() {
  const { t } = useTranslation('operator');
  return ({ channel, prefix }: Scope): string =>
    prefix === ''
      ? t('price.ofAll', { channel: t(`ui:channel.${channel}`) })
      : `${t(`ui:channel.${channel}`)} +${prefix}`;
}
