import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { HelpLink } from '../ui/help-link.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { settingsQuery } from './settings.ts';
import { TrialSection } from './trial.tsx';

// With its fields, the page would be larger than the first load of a page may be.
const SettingsForm = lazyPart(() => import('./form.tsx').then((file) => ({ default: file.SettingsForm })));

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
            <Facts facts={[{ label: t('provider.redirectUri'), value: <RedirectUri uri={data.redirectUri} /> }]} />
          </Section>
          <Suspense fallback={<TableSkeleton />}>
            <SettingsForm key={JSON.stringify(data.settings)} stored={data.settings} />
          </Suspense>
          {data.settings !== null && <TrialSection settings={data.settings} />}
        </Stack>
      )}
    </Frame>
  );
}

function RedirectUri({ uri }: { readonly uri: string }) {
  const { t } = useTranslation('single-sign-on');
  return (
    <>
      <bdi dir="ltr" style={{ overflowWrap: 'anywhere' }}>
        {uri}
      </bdi>
      <CopyButton text={uri} label={t('provider.copy')} />
    </>
  );
}
