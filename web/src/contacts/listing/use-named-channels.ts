import { useTranslation } from 'react-i18next';
import { CHANNELS } from '../contact.ts';

/** Returns options for the channels, each labelled with the text of the given key. */
export function useNamedChannels() {
  const { t } = useTranslation('contacts');
  return (key: string) => CHANNELS.map((value) => ({ value, label: t(key, { channel: t(`ui:channel.${value}`) }) }));
}
