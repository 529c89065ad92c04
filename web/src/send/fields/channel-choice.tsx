import { Radio, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { type Channel, CHANNELS } from '../draft.ts';

type ChannelChoiceProps = { readonly channel: Channel; readonly onChange: (channel: Channel) => void };

/** The choice of the channel; channels that the user may not use are disabled and show the reason. */
export function ChannelChoice({ channel, onChange }: ChannelChoiceProps) {
  const { t } = useTranslation('send');
  const { refusal } = useSession();
  return (
    <Radio.Group
      label={t('channel')}
      value={channel}
      onChange={(value) => onChange(CHANNELS.find((each) => each === value) ?? channel)}
    >
      <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs" spacing="sm">
        {CHANNELS.map((scope) => {
          const why = refusal({ scope });
          return (
            <Radio
              key={scope}
              value={scope}
              label={t(`ui:channel.${scope}`)}
              description={why === null ? t(`channelHint.${scope}`) : t(`ui:why.${why}`)}
              disabled={why !== null}
            />
          );
        })}
      </SimpleGrid>
    </Radio.Group>
  );
}
