import { Radio, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../api/session.ts';
import { Section } from '../../../ui/section.tsx';
import { type SendingMode, chainOf, MODES } from '../../campaign.ts';
import { ChainPicture } from './chain-picture.tsx';
import { NetworkFields } from './network-fields.tsx';
import { modeName } from '../../mode-name.ts';
import type { DraftForm } from '../use-editor.ts';

/** The step for the name, the channels in order, and the sender on each. */
export function ChannelsStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(form.getValues().sendingMode);
  return (
    <Stack mt="md">
      <Section title={t('channels.about')}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label={t('channels.name')}
            description={t('channels.nameHint')}
            maxLength={200}
            withAsterisk
            {...form.getInputProps('name')}
          />
          <TextInput
            label={t('channels.description')}
            description={t('channels.descriptionHint')}
            maxLength={1000}
            {...form.getInputProps('description')}
          />
        </SimpleGrid>
      </Section>
      <Section title={t('channels.title')} description={t('channels.hint')}>
        <Modes form={form} />
        <ChainPicture form={form} />
      </Section>
      <Section title={t('channels.senders')}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {chain.includes('WHATSAPP') && <NetworkFields channel="WHATSAPP" form={form} />}
          {chain.includes('RCS') && <NetworkFields channel="RCS" form={form} />}
          {chain.includes('SMS') && (
            <TextInput
              label={t('channels.smsSender')}
              description={t('channels.smsSenderHint')}
              maxLength={20}
              withAsterisk
              {...form.getInputProps('smsSender')}
            />
          )}
        </SimpleGrid>
      </Section>
    </Stack>
  );
}

function Modes({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  return (
    <Radio.Group aria-label={t('channels.title')} {...form.getInputProps('sendingMode')}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        {MODES.map((mode) => (
          <Mode key={mode} mode={mode} />
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}

/** A sending mode; one that the account may not use is disabled and shows the reason. */
function Mode({ mode }: { readonly mode: SendingMode }) {
  const { t } = useTranslation('campaigns');
  const { refusal } = useSession();
  const why = chainOf(mode)
    .map((scope) => refusal({ scope }))
    .find((reason) => reason !== null);
  const words = why ? t(`ui:why.${why}`) : t(chainOf(mode).length > 1 ? 'channels.inTurn' : 'channels.alone');
  return <Radio value={mode} label={modeName(t, mode)} description={words} disabled={why !== undefined} />;
}
