import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { CopyButton, GuardedButton } from '../ui/actions.tsx';
import { ErrorState, HelpLink, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { DateTime, Facts, StatusBadge } from '../ui/values.tsx';
import { type Domain, NEED, PATH, type Stored, settingsQuery, type Trial } from './settings.ts';

/** The mail domains of the stored settings, with the state of their proof and the records for the others. */
function DomainsSection({ settings }: { readonly settings: NonNullable<Stored> }) {
  const { t } = useTranslation('single-sign-on');
  return (
    <Section
      title={t('domains.title')}
      description={t('domains.text')}
      actions={<HelpLink help="single-sign-on#mail-domains" />}
    >
      <Stack gap="lg">
        {settings.domains.map((each) => (
          <Proof key={each.domain} of={each} />
        ))}
      </Stack>
    </Section>
  );
}

function Proof({ of: { domain, isProven, record } }: { readonly of: Domain }) {
  const { t } = useTranslation('single-sign-on');
  const verify = useAction({
    run: () => ok(api.POST(`${PATH}/domains/{domain}/verify`, { params: { path: { domain } } })),
    refresh: [settingsQuery.queryKey, ['audit']],
    done: t('domains.done', { domain }),
  });
  return (
    <Stack gap="xs" role="group" aria-label={domain}>
      <Group>
        <Text fw={500}>
          <bdi dir="ltr">{domain}</bdi>
        </Text>
        <StatusBadge tone={isProven ? 'good' : 'warning'}>
          {t(isProven ? 'domains.proven' : 'domains.unproven')}
        </StatusBadge>
        {!isProven && (
          <GuardedButton
            need={NEED}
            variant="default"
            size="xs"
            type="button"
            loading={verify.busy}
            aria-label={t('domains.verifyOne', { domain })}
            onClick={() => verify.run()}
          >
            {t('domains.verify')}
          </GuardedButton>
        )}
      </Group>
      <Facts
        facts={[
          { label: t('domains.type'), value: record.type },
          {
            label: t('domains.name'),
            value: <Copied text={record.name} label={t('domains.copyName', { domain })} />,
          },
          {
            label: t('domains.value'),
            value: <Copied text={record.value} label={t('domains.copyValue', { domain })} />,
          },
        ]}
      />
    </Stack>
  );
}

/** A technical text to copy. */
function Copied({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <>
      <bdi dir="ltr" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </bdi>
      <CopyButton text={text} label={label} />
    </>
  );
}

/** Lets an admin try the stored settings, and shows the result of the last trial. */
function TrialSection({ settings }: { readonly settings: NonNullable<Stored> }) {
  const { t } = useTranslation('single-sign-on');
  const begin = useAction({
    run: () => ok(api.POST(`${PATH}/trial`)),
    onDone: ({ authorizeUrl }) => window.location.assign(authorizeUrl),
  });
  const action = (
    <GuardedButton need={NEED} variant="default" loading={begin.busy} onClick={() => begin.run()}>
      {t('trial.begin')}
    </GuardedButton>
  );
  return (
    <Section title={t('trial.title')} description={t('trial.text')} actions={action}>
      {settings.lastTrial === null ? <Text size="sm">{t('trial.none')}</Text> : <Result trial={settings.lastTrial} />}
    </Section>
  );
}

function Result({ trial }: { readonly trial: Trial }) {
  const { t } = useTranslation('single-sign-on');
  const { at, problem, detail, email, groups, role, isCurrent } = trial;
  const worked = problem === null;
  return (
    <Facts
      facts={[
        { label: t('trial.at'), value: <DateTime value={at} /> },
        {
          label: t('trial.result'),
          value: (
            <StatusBadge tone={worked ? (isCurrent ? 'good' : 'neutral') : 'bad'}>
              {worked ? t(isCurrent ? 'trial.worked' : 'trial.workedBefore') : t(`problem.${problem}`)}
            </StatusBadge>
          ),
        },
        { label: t('trial.detail'), value: <bdi lang="en">{detail ?? '–'}</bdi> },
        { label: t('trial.email'), value: <bdi dir="ltr">{email ?? '–'}</bdi> },
        { label: t('trial.groups'), value: <bdi>{groups.join(', ') || '–'}</bdi> },
        { label: t('trial.role'), value: role === null ? '–' : t(`role.${role}`) },
      ]}
    />
  );
}

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
    <PageFrame title={t('title')} description={t('description')} trail={trail}>
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
    </PageFrame>
  );
}
