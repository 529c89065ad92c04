import { Badge, Group, PasswordInput, Stack, TextInput, VisuallyHidden } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { ButtonLink, PageFrame, Section } from '../ui/parts.tsx';
import { DateTime, Facts } from '../ui/values.tsx';
import { NewPassword, USERS, usePasswordFault } from './user.tsx';

const EMPTY = { currentPassword: '', newPassword: '', again: '' };

/** The form in which users of any role change their own password. */
function OwnPassword() {
  const { t } = useTranslation('users');
  const { user, isElsewhere } = useSession();
  const faultOf = usePasswordFault();
  const form = useForm({
    initialValues: EMPTY,
    validate: {
      currentPassword: (given) => (given === '' ? t('own.currentMissing') : null),
      newPassword: (given) => faultOf(given, user.username),
      again: (given, { newPassword }) => (given === newPassword ? null : t('own.differs')),
    },
  });
  const change = useAction({
    run: ({ currentPassword, newPassword }: typeof EMPTY) =>
      ok(api.PUT(`${USERS}/me/password`, { body: { currentPassword, newPassword } })),
    form,
    refresh: [['sessions']],
    done: t('own.done'),
    onDone: form.reset,
  });
  return (
    <form onSubmit={form.onSubmit((values) => change.run(values))}>
      <Stack maw={420}>
        <VisuallyHidden>
          <TextInput
            label={t('column.username')}
            autoComplete="username"
            value={user.username}
            readOnly
            tabIndex={-1}
          />
        </VisuallyHidden>
        <PasswordInput
          label={t('own.current')}
          autoComplete="current-password"
          maxLength={200}
          visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
          {...form.getInputProps('currentPassword')}
        />
        <NewPassword label={t('password.new')} input={form.getInputProps('newPassword')} />
        <PasswordInput
          label={t('own.again')}
          autoComplete="new-password"
          maxLength={200}
          visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
          {...form.getInputProps('again')}
        />
        <GuardedButton
          type="submit"
          need={{ write: false }}
          reason={isElsewhere && t('own.elsewhere')}
          loading={change.busy}
          w="fit-content"
        >
          {t('own.submit')}
        </GuardedButton>
      </Stack>
    </form>
  );
}

/** The form in which users say what colleagues call them. */
function OwnName() {
  const { t } = useTranslation('users');
  const { user, isElsewhere } = useSession();
  const form = useForm({ initialValues: { displayName: user.displayName } });
  const change = useAction({
    run: (body: { displayName: string }) => ok(api.PUT(`${USERS}/me/name`, { body })),
    form,
    refresh: [['session'], ['users'], ['assignable-users']],
    done: t('name.done'),
  });
  return (
    <form onSubmit={form.onSubmit((values) => change.run(values))}>
      <Group align="flex-end">
        <TextInput label={t('name.label')} maxLength={100} w={320} {...form.getInputProps('displayName')} />
        <GuardedButton
          type="submit"
          need={{ write: false }}
          reason={isElsewhere && t('own.elsewhere')}
          loading={change.busy}
        >
          {t('name.submit')}
        </GuardedButton>
      </Group>
    </form>
  );
}

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
    <PageFrame title={t('profile.title')} description={t('profile.description')}>
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
      <Section title={t('name.title')} description={t('name.text')}>
        <OwnName />
      </Section>
      <Section title={t('own.title')} description={t('own.text')}>
        <OwnPassword />
      </Section>
    </PageFrame>
  );
}
