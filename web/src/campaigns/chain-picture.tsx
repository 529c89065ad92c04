import { Checkbox, Collapse, Group, NativeSelect, SimpleGrid, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ArrowDown, ArrowRight, ChevronDown, ChevronRight } from 'lucide-react';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/format.ts';
import { Muted } from '../ui/parts.tsx';
import { ChannelBadge } from '../ui/values.tsx';
import { type Channel, chainOf } from './campaign.ts';
import classes from './chain-picture.module.css';
import { FAILURES } from './draft.ts';
import type { DraftForm } from './use-editor.ts';

type FormProps = { readonly form: DraftForm };

/** A diagram of the channels in order; the wait times are set in the diagram itself. */
export function ChainPicture({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(form.getValues().sendingMode);
  if (chain.length === 1) return null;
  return (
    <Stack gap="sm">
      <ol className={classes.chain} aria-label={t('chain.label')}>
        {chain.map((channel, at) => (
          <Fragment key={channel}>
            {at > 0 && <Hop from={chain[at - 1] ?? channel} form={form} />}
            <li className={classes.channel}>
              <Text size="xs" c="dimmed">
                {t(at === 0 ? 'chain.first' : 'chain.next', { place: at + 1 })}
              </Text>
              <ChannelBadge channel={channel} />
            </li>
          </Fragment>
        ))}
      </ol>
      <Muted>{t('chain.text')}</Muted>
      <MaxWait form={form} />
      <Failures form={form} />
    </Stack>
  );
}

/** The wait times to choose from, in seconds. */
const WAITS = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800];

function Hop({ from, form }: FormProps & { readonly from: Channel }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const field = from === 'WHATSAPP' ? 'afterWhatsapp' : 'afterRcs';
  const current = form.getValues()[field];
  const waits = [...new Set([...WAITS, current])].sort((a, b) => a - b);
  return (
    <li className={classes.hop}>
      <ArrowRight size={18} aria-hidden="true" className={classes.sideways} />
      <ArrowDown size={18} aria-hidden="true" className={classes.down} />
      <NativeSelect
        size="xs"
        label={t('chain.after', { channel: t(`ui:channel.${from}`) })}
        data={waits.map((seconds) => ({ value: String(seconds), label: format.duration(seconds) }))}
        value={String(current)}
        onChange={(event) => form.setFieldValue(field, Number(event.currentTarget.value))}
        error={form.errors[field]}
      />
    </li>
  );
}

/** The longest wait for a carrier that the API allows, and its default. */
const LONGEST = 172_800;

function MaxWait({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { maxWait } = form.getValues();
  const waits = [...new Set([...WAITS.filter((seconds) => seconds < LONGEST), ...(maxWait === null ? [] : [maxWait])])];
  return (
    <NativeSelect
      label={t('chain.maxWait')}
      description={t('chain.maxWaitHint')}
      maw={420}
      data={[
        { value: '', label: t('chain.maxWaitDefault', { time: format.duration(LONGEST) }) },
        ...waits.sort((a, b) => a - b).map((seconds) => ({ value: String(seconds), label: format.duration(seconds) })),
      ]}
      value={maxWait === null ? '' : String(maxWait)}
      onChange={({ currentTarget: { value } }) => form.setFieldValue('maxWait', value === '' ? null : Number(value))}
      error={form.errors['maxWait']}
    />
  );
}

function Failures({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const [opened, { toggle }] = useDisclosure(form.getValues().onStatus.length < FAILURES.length);
  const Sign = opened ? ChevronDown : ChevronRight;
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={opened}>
        <Group gap={4} wrap="nowrap">
          <Sign size={16} aria-hidden="true" />
          <Text size="sm" fw={500}>
            {t('chain.onStatus')}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={opened}>
        <Checkbox.Group
          mt="xs"
          aria-label={t('chain.onStatus')}
          description={t('chain.onStatusHint')}
          {...form.getInputProps('onStatus')}
        >
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" mt="xs">
            {FAILURES.map((status) => (
              <Checkbox key={status} size="sm" value={status} label={t(`ui:messageStatus.${status}`)} />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
      </Collapse>
    </div>
  );
}
