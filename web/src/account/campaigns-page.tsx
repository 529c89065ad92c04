import { Group, NativeSelect, NumberInput, SimpleGrid, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { type Sending, sendingQuery } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { PURPOSES, usePurposes } from '../ui/values.tsx';
import { PG, type Policy, policyQuery } from './account.tsx';

const NEED: Need = { scope: 'keys', write: true };

/** The page of the account's campaign rules: quiet hours and allowed SMS senders. */
export function Page() {
  const { t } = useTranslation('account');
  const { data, error, refetch } = useQuery(policyQuery);
  return (
    <PageFrame title={t('part.campaigns.title')} description={t('part.campaigns.description')}>
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <TableSkeleton rows={4} />}
      {data && <Settings policy={data} />}
      <SendingRules />
    </PageFrame>
  );
}

/** The account's own purpose and calendar; each change is saved at once. */
function SendingRules() {
  const { t } = useTranslation('account');
  const { data } = useQuery(sendingQuery);
  const refusal = useDisabledReason(NEED);
  const purposes = usePurposes(t('campaigns.sending.none'));
  const save = useAction({
    run: (body: Partial<Sending>) => ok(api.PUT(`${PG}/account/sending`, { body })),
    refresh: [['account', 'sending']],
    done: t('campaigns.saved'),
  });
  if (data === undefined) return null;
  const isClosed = refusal !== undefined || save.busy;
  return (
    <Section title={t('campaigns.sending.title')} description={t('campaigns.sending.text')}>
      <NativeSelect
        label={t('ui:purpose.label')}
        w={{ base: '100%', xs: 260 }}
        data={purposes}
        disabled={isClosed}
        value={data.purpose ?? ''}
        onChange={({ currentTarget: { value } }) =>
          save.run({ purpose: PURPOSES.find((purpose) => purpose === value) ?? null })
        }
      />
      <NumberInput
        label={t('campaigns.sending.cap')}
        description={t('campaigns.sending.capHint')}
        min={1}
        max={1000}
        allowDecimal={false}
        w={{ base: '100%', xs: 260 }}
        disabled={isClosed}
        key={data.weeklyCap}
        defaultValue={data.weeklyCap ?? ''}
        onBlur={({ currentTarget: { value } }) => {
          const weeklyCap = value === '' ? null : Number(value);
          if (weeklyCap !== data.weeklyCap) save.run({ weeklyCap });
        }}
      />
      <Switch
        label={t('campaigns.sending.calendar')}
        disabled={isClosed}
        checked={data.respectCalendar}
        onChange={({ currentTarget }) => save.run({ respectCalendar: currentTarget.checked })}
      />
    </Section>
  );
}

/** The form's values: switches, and one sender per line. */
type Draft = {
  readonly isQuiet: boolean;
  readonly quietHours: { readonly from: string; readonly to: string };
  readonly isLimited: boolean;
  readonly smsSenders: string;
};

const draftOf = ({ quietHours, smsSenders }: Policy): Draft => ({
  isQuiet: quietHours !== null,
  quietHours: quietHours ?? { from: '21:00', to: '09:00' },
  isLimited: smsSenders !== null,
  smsSenders: (smsSenders ?? []).join('\n'),
});

const policyOf = ({ isQuiet, quietHours, isLimited, smsSenders }: Draft): Policy => ({
  quietHours: isQuiet ? quietHours : null,
  smsSenders: isLimited
    ? smsSenders
        .split(/[\n,;]/)
        .map((line) => line.trim())
        .filter((line) => line !== '')
    : null,
});

function Settings({ policy }: { readonly policy: Policy }) {
  const { t } = useTranslation('account');
  const refusal = useDisabledReason(NEED);
  const form = useForm<Draft>({ initialValues: draftOf(policy) });
  const save = useAction({
    run: (draft: Draft) => ok(api.PUT(`${PG}/account/campaigns`, { body: policyOf(draft) })),
    refresh: [['account', 'campaigns']],
    done: t('campaigns.saved'),
    onDone(saved) {
      form.setInitialValues(draftOf(saved));
      form.reset();
    },
    form,
  });
  const isClosed = refusal !== undefined;
  const { isQuiet, isLimited } = form.values;
  return (
    <form onSubmit={form.onSubmit((draft) => save.run(draft))}>
      <Stack gap="lg">
        <Section title={t('campaigns.quiet.title')} description={t('campaigns.quiet.text')}>
          <Switch
            label={t('campaigns.quiet.switch')}
            disabled={isClosed}
            {...form.getInputProps('isQuiet', { type: 'checkbox' })}
          />
          {isQuiet && (
            <SimpleGrid cols={{ base: 2, xs: 4 }}>
              <TextInput
                type="time"
                label={t('campaigns.quiet.from')}
                disabled={isClosed}
                {...form.getInputProps('quietHours.from')}
              />
              <TextInput
                type="time"
                label={t('campaigns.quiet.to')}
                disabled={isClosed}
                {...form.getInputProps('quietHours.to')}
              />
            </SimpleGrid>
          )}
        </Section>
        <Section title={t('campaigns.senders.title')} description={t('campaigns.senders.text')}>
          <Switch
            label={t('campaigns.senders.switch')}
            disabled={isClosed}
            {...form.getInputProps('isLimited', { type: 'checkbox' })}
          />
          {isLimited && (
            <Textarea
              label={t('campaigns.senders.list')}
              description={t('campaigns.senders.hint')}
              autosize
              minRows={3}
              maxRows={12}
              maw={420}
              disabled={isClosed}
              {...form.getInputProps('smsSenders')}
            />
          )}
        </Section>
        <Group>
          <GuardedButton
            need={NEED}
            type="submit"
            loading={save.busy}
            reason={!form.isDirty() && t('campaigns.unchanged')}
          >
            {t('ui:save')}
          </GuardedButton>
          {isClosed && <Muted>{refusal}</Muted>}
        </Group>
      </Stack>
    </form>
  );
}
