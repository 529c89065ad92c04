import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { Section } from '../ui/section.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { NEED, PATH, type Stored, type Trial } from './settings.ts';

/** Lets an admin try the stored settings, and shows the result of the last trial. */
export function TrialSection({ settings }: { readonly settings: NonNullable<Stored> }) {
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
