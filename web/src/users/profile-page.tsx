import { Badge, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { DateTime } from '../ui/values/date-time.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { OwnPassword } from './own-password.tsx';

/** The profile page of the signed-in user. */
export function Page() {
  const { t } = useTranslation('users');
  const { user, role, account, createdAt, expiresAt } = useSession();
  const sessions = (
    <ButtonLink to="/security" variant="default">
      {t('profile.sessions')}
    </ButtonLink>
  );
  return (
    <Frame title={t('profile.title')} description={t('profile.description')}>
      <Section title={t('profile.you')} actions={sessions}>
        <Facts
          facts={[
            {
              label: t('column.username'),
              value: (
                <Group gap="xs">
                  <bdi>{user.username}</bdi>
                  {user.isOperator && <Badge color="violet">{t('isOperator')}</Badge>}
                </Group>
              ),
            },
            { label: t('profile.account'), value: <bdi>{account.name}</bdi> },
            { label: t('column.role'), value: `${t(`role.${role}`)}: ${t(`roleText.${role}`)}` },
            { label: t('profile.since'), value: <DateTime value={createdAt} /> },
            { label: t('profile.until'), value: <DateTime value={expiresAt} show="exact" /> },
          ]}
        />
      </Section>
      <Section title={t('own.title')} description={t('own.text')}>
        <OwnPassword />
      </Section>
    </Frame>
  );
}
