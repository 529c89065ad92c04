import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { Section } from '../../ui/section.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { CannedSection } from './canned-section.tsx';
import { LabelsSection } from './labels-section.tsx';
import { settingsQuery } from './settings.ts';

const RulesForm = lazyPart(() => import('./rules-form.tsx').then((file) => ({ default: file.RulesForm })));

/** The page of settings that the agents of an account share: canned answers, labels, assignment and opening hours. */
export function Page() {
  const { t } = useTranslation('inbox');
  const settings = useQuery(settingsQuery);
  return (
    <Frame title={t('settings.title')} description={t('settings.text')} trail={[{ label: t('title'), to: '/inbox' }]}>
      <Stack gap="lg">
        <CannedSection />
        <LabelsSection />
        <Section title={t('rules.title')}>
          {settings.isError ? (
            <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
          ) : settings.data ? (
            <Suspense fallback={<TableSkeleton rows={3} />}>
              <RulesForm settings={settings.data} />
            </Suspense>
          ) : (
            <TableSkeleton rows={3} />
          )}
        </Section>
      </Stack>
    </Frame>
  );
}
