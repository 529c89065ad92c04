import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { ErrorState } from '../ui/error-state.tsx';
import { HelpLink } from '../ui/help-link.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { Copied, DomainsSection } from './domains.tsx';
import { settingsQuery, type Stored } from './settings.ts';
import { TrialSection } from './trial.tsx';

// Loaded lazily: with the fields, the page would exceed the size limit of a first load.
const SettingsForm = lazyPart(() => import('./form.tsx').then((file) => ({ default: file.SettingsForm })));

/** The form starts over when its stored values have changed. A proof of a domain keeps the input. */
const keyOf = (stored: Stored): string => JSON.stringify({ ...stored, domains: null });

/** The page with the single sign-on of the account. */
export function Page() {
  const { t } = useTranslation('single-sign-on');
  const { data, error, refetch } = useQuery(settingsQuery);
  const trail = [{ label: t('above'), to: '/security' }];
  return (
    <Frame title={t('title')} description={t('description')} trail={trail}>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <TableSkeleton />}
      {data !== undefined && (
        <Stack gap="lg">
          <Section
            title={t('provider.title')}
            description={t('provider.text')}
            actions={<HelpLink help="single-sign-on#set-it-up" />}
          >
            <Facts
              facts={[
                {
                  label: t('provider.redirectUri'),
                  value: <Copied text={data.redirectUri} label={t('provider.copy')} />,
                },
              ]}
            />
          </Section>
          <Suspense fallback={<TableSkeleton />}>
            <SettingsForm key={keyOf(data.settings)} stored={data.settings} />
          </Suspense>
          {data.settings !== null && data.settings.domains.length > 0 && <DomainsSection settings={data.settings} />}
          {data.settings !== null && <TrialSection settings={data.settings} />}
        </Stack>
      )}
    </Frame>
  );
}
