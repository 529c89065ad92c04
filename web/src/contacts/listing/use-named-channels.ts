import { useTranslation } from 'react-i18next';
import { CHANNELS } from '../contact.ts';

/** The channels as choices, each in the sentence that the key stands for. */
export function useNamedChannels() {
  const { t } = useTranslation('contacts');
  return (key: string) => CHANNELS.map((value) => ({ value, label: t(key, { channel: t(`ui:channel.${value}`) }) }));
}
