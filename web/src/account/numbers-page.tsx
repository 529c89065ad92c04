import { Group, NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { useCountries } from '../ui/countries.ts';
import { ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { type NumberRules, numberRulesQuery, PG } from './account.tsx';

const NEED: Need = { scope: 'keys', write: true };

/** The page of how the account's phone numbers are read. */
export function Page() {
  const { t } = useTranslation('account');
  const { data, error, refetch } = useQuery(numberRulesQuery);
  return (
    <PageFrame title={t('part.numbers.title')} description={t('part.numbers.description')}>
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <TableSkeleton rows={3} />}
      {data && <Settings rules={data} />}
    </PageFrame>
  );
}

type Draft = { readonly defaultCountry: string; readonly numberChecks: NumberRules['numberChecks'] };

const draftOf = ({ defaultCountry, numberChecks }: NumberRules): Draft => ({
  defaultCountry: defaultCountry ?? '',
  numberChecks,
});

function Settings({ rules }: { readonly rules: NumberRules }) {
  const { t } = useTranslation('account');
  const refusal = useDisabledReason(NEED);
  const countries = useCountries();
  const form = useForm<Draft>({ initialValues: draftOf(rules) });
  const save = useAction({
    run: ({ defaultCountry, numberChecks }: Draft) =>
      ok(api.PUT(`${PG}/account/numbers`, { body: { defaultCountry: defaultCountry.trim() || null, numberChecks } })),
    refresh: [['account', 'rules-of-numbers'], ['audit']],
    done: t('numbers.saved'),
    onDone(saved) {
      form.setInitialValues(draftOf(saved));
      form.reset();
    },
    form,
  });
  const isClosed = refusal !== undefined;
  return (
    <form onSubmit={form.onSubmit((draft) => save.run(draft))}>
      <Stack gap="lg">
        <Section title={t('numbers.title')} description={t('numbers.text')}>
          <SimpleGrid cols={{ base: 1, xs: 2 }} maw={640}>
            <NativeSelect
              label={t('numbers.country')}
              description={t('numbers.countryHint')}
              disabled={isClosed}
              data={[{ value: '', label: t('numbers.noCountry') }, ...countries]}
              {...form.getInputProps('defaultCountry')}
            />
            <NativeSelect
              label={t('numbers.checks')}
              description={t('numbers.checksHint')}
              disabled={isClosed}
              data={(['strict', 'lenient'] as const).map((value) => ({ value, label: t(`numbers.${value}`) }))}
              {...form.getInputProps('numberChecks')}
            />
          </SimpleGrid>
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
