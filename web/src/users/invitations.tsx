import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Mail, RotateCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { toLanguage } from '../api/data.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ErrorState, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { DateTime, useNow } from '../ui/values.tsx';
import { NEED, NewPassword, ROLES, type Role, USERS, type User, usePasswordFault } from './user.tsx';

/** The invitations that were not accepted yet, and the button that makes another one. */
export function Invitations() {
  const { t, i18n } = useTranslation('users');
  const { data, error, refetch } = useQuery(invitationsQuery);
  const resend = useAction({
    run: ({ id }: Invitation) =>
      ok(
        api.POST(`${INVITATIONS}/{id}/resend`, {
          params: { path: { id } },
          body: { language: toLanguage(i18n.language) },
        }),
      ),
    refresh: [invitationsQuery.queryKey, ['audit']],
    done: ({ link: made, email }) => (made === null ? t('invitation.sent', { email }) : t('invitation.renewed')),
    onDone: ({ link }) => link !== null && openDialog(<LinkDialog link={link} />),
  });
  const revoke = useAction({
    run: ({ id }: Invitation) => ok(api.DELETE(`${INVITATIONS}/{id}`, { params: { path: { id } } })),
    refresh: [invitationsQuery.queryKey, ['audit']],
    done: t('invitation.revoked'),
  });
  const open = (
    <AddButton
      need={NEED}
      leftSection={<Mail size={16} />}
      variant="default"
      onClick={() => openDialog(<InviteDialog />)}
    >
      {t('invitation.open')}
    </AddButton>
  );
  return (
    <Section title={t('invitation.title')} description={t('invitation.text')} actions={open}>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <Text size="sm">{t('invitation.none')}</Text>}
      {data !== undefined && data.length > 0 && (
        <InvitationTable
          invitations={data}
          onResend={(invitation) => resend.run(invitation)}
          onRevoke={(invitation) => revoke.run(invitation)}
        />
      )}
    </Section>
  );
}

/** Dialog with the new link of an invitation. */
function LinkDialog({ link }: { readonly link: string }) {
  const { t } = useTranslation('users');
  const { close } = useDialog();
  return (
    <Dialog title={t('invitation.linkTitle')} locked>
      <Stack>
        <InvitationLink link={link} />
        <Button onClick={close} w="fit-content">
          {t('invitation.finish')}
        </Button>
      </Stack>
    </Dialog>
  );
}

type InvitationTableProps = {
  readonly invitations: readonly Invitation[];
  readonly onResend: (invitation: Invitation) => void;
  readonly onRevoke: (invitation: Invitation) => void;
};

function InvitationTable({ invitations, onResend, onRevoke }: InvitationTableProps) {
  const { t } = useTranslation('users');
  const now = useNow().getTime();
  return (
    <SmallTable
      label={t('invitation.title')}
      rows={invitations}
      rowId={({ id }) => id}
      columns={[
        { id: 'email', header: t('invitation.email'), cell: ({ email }) => <bdi dir="ltr">{email}</bdi> },
        { id: 'role', header: t('column.role'), cell: ({ role }) => t(`role.${role}`) },
        {
          id: 'until',
          header: t('invitation.until'),
          cell: ({ expiresAt }) =>
            Date.parse(expiresAt) < now ? t('invitation.expired') : <DateTime value={expiresAt} show="exact" />,
        },
        {
          id: 'actions',
          header: t('invitation.actions'),
          cell: (invitation) => (
            <Group gap={4} wrap="nowrap">
              <GuardedIcon
                need={NEED}
                label={t('invitation.resend', { email: invitation.email })}
                onClick={() => onResend(invitation)}
              >
                <RotateCw size={16} />
              </GuardedIcon>
              <GuardedIcon
                need={NEED}
                label={t('invitation.revoke', { email: invitation.email })}
                onClick={() => onRevoke(invitation)}
              >
                <Trash2 size={16} />
              </GuardedIcon>
            </Group>
          ),
        },
      ]}
    />
  );
}

const NAME = /^[a-z0-9][a-z0-9._@+-]*$/;
type NewUser = { readonly username: string; readonly password: string; readonly role: Role };

/** Dialog that adds a user and then shows the password once, so that it can be passed on. */
export function CreateDialog() {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  return (
    <FormDialog<NewUser, { readonly username: string }>
      title={t('create.title')}
      values={{ username: '', password: '', role: 'sender' }}
      validate={{
        username: (username) => (NAME.test(username) ? null : t('create.usernameWrong')),
        password: (password, { username }) => faultOf(password, username),
      }}
      run={(body) => ok(api.POST(USERS, { body }))}
      refresh={[['users'], ['audit']]}
      action={t('create.submit')}
      result={({ username }, { password }) => <PasswordOnce username={username} password={password} />}
      finish={t('password.handedOver')}
    >
      {(form, { error }) => {
        const isTaken = error instanceof ApiError && error.status === 409;
        const name = form.getInputProps('username');
        return (
          <>
            <TextInput
              label={t('column.username')}
              description={t('create.usernameHint')}
              autoCapitalize="none"
              autoComplete="off"
              spellCheck={false}
              maxLength={200}
              data-autofocus
              {...name}
              error={name.error ?? (isTaken ? t('create.taken') : undefined)}
            />
            <NewPassword
              label={t('password.of')}
              input={form.getInputProps('password')}
              onSuggest={(password) => form.setFieldValue('password', password)}
            />
            <RoleChoice {...form.getInputProps('role')} />
          </>
        );
      }}
    </FormDialog>
  );
}

const invite = ({ email, role }: { readonly email: string; readonly role: Role }, language: string) =>
  ok(api.POST(INVITATIONS, { body: { email: email.trim(), role, language: toLanguage(language) } }));

/** Dialog that invites a person: by mail, or with a link to pass on if the gateway sends no mails. */
function InviteDialog() {
  const { t, i18n } = useTranslation('users');
  return (
    <FormDialog<{ readonly email: string; readonly role: Role }, Awaited<ReturnType<typeof invite>>>
      title={t('invitation.open')}
      values={{ email: '', role: 'viewer' }}
      validate={{
        email: (email) => (/^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(email.trim()) ? null : t('invitation.emailWrong')),
      }}
      run={(values) => invite(values, i18n.language)}
      refresh={[invitationsQuery.queryKey, ['audit']]}
      action={t('invitation.submit')}
      result={({ link, email }) =>
        link === null ? <Text role="status">{t('invitation.sent', { email })}</Text> : <InvitationLink link={link} />
      }
      finish={t('invitation.finish')}
      noValidate
    >
      {(form) => (
        <>
          <TextInput
            type="email"
            label={t('invitation.email')}
            description={t('invitation.emailHint')}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            data-autofocus
            {...form.getInputProps('email')}
          />
          <RoleChoice {...form.getInputProps('role')} />
        </>
      )}
    </FormDialog>
  );
}

type UserDialogProps = { readonly user: User };

/** Dialog that sets a new password for another user. */
export function PasswordDialog({ user: { id, username } }: UserDialogProps) {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  return (
    <FormDialog
      title={t('password.title', { username })}
      values={{ password: '' }}
      validate={{ password: (password) => faultOf(password, username) }}
      run={(body) => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id } }, body }))}
      refresh={[['sessions'], ['audit']]}
      action={t('password.submit')}
      result={(_, { password }) => <PasswordOnce username={username} password={password} />}
      finish={t('password.handedOver')}
    >
      {(form) => (
        <>
          <Text size="sm">{t('password.text', { username })}</Text>
          <NewPassword
            label={t('password.new')}
            input={form.getInputProps('password')}
            onSuggest={(password) => form.setFieldValue('password', password)}
          />
        </>
      )}
    </FormDialog>
  );
}

/** Dialog that changes a user's role. */
export function RoleDialog({ user: { id, username, role } }: UserDialogProps) {
  const { t } = useTranslation('users');
  return (
    <FormDialog
      title={t('role.title', { username })}
      values={{ role }}
      run={(body) => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id } }, body }))}
      // The user's own role decides the features of the console.
      refresh={[['users'], ['session'], ['audit']]}
      done={(_, chosen) => t('role.done', { username, role: t(`role.${chosen.role}`) })}
      action={t('role.submit')}
      isDisabled={(chosen) => chosen.role === role}
    >
      {(form) => <RoleChoice {...form.getInputProps('role')} />}
    </FormDialog>
  );
}

type RoleChoiceProps = {
  readonly value?: string;
  readonly onChange?: (value: string) => void;
  readonly error?: React.ReactNode;
};

/** The choice of a role, each with a description. */
function RoleChoice(props: RoleChoiceProps) {
  const { t } = useTranslation('users');
  return (
    <Radio.Group label={t('column.role')} {...props}>
      <Stack gap="xs" mt="xs">
        {ROLES.map((role) => (
          <Radio key={role} value={role} label={t(`role.${role}`)} description={t(`roleText.${role}`)} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

type PasswordOnceProps = { readonly username: string; readonly password: string };

/** Shows another user's new password once, so that it can be passed on. */
function PasswordOnce({ username, password }: PasswordOnceProps) {
  const { t } = useTranslation('users');
  return <SecretOnce label={t('password.of')} secret={password} note={t('password.handOver', { username })} />;
}

const INVITATIONS = '/api/partner-gateway/v1/invitations';

/** All open invitations: an account has at most 200. */
const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) => {
    const query = { page: 0, limit: 200 };
    return (await ok(api.GET(INVITATIONS, { params: { query }, signal }))).data;
  },
});

/** An invitation that was not accepted yet. */
type Invitation = Awaited<ReturnType<NonNullable<typeof invitationsQuery.queryFn>>>[number];

/** The link of an invitation, which the admin passes on because no mail was sent. */
function InvitationLink({ link }: { readonly link: string }) {
  const { t } = useTranslation('users');
  return <SecretOnce label={t('invitation.link')} secret={link} note={t('invitation.linkNote')} />;
}
