import { Button, Group, Radio, Stack, Table, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Mail, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { toLanguage } from '../api/data.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon, SecretOnce } from '../ui/actions.tsx';
import { Dialog, DialogButtons, DialogForm } from '../ui/dialog.tsx';
import { ErrorState, Section, useLast } from '../ui/parts.tsx';
import { DateTime, useNow } from '../ui/values.tsx';
import { NEED, NewPassword, ROLES, type Role, USERS, type User, usePasswordFault } from './user.tsx';

/** The invitations that were not accepted yet, and the button that makes another one. */
export function Invitations() {
  const { t, i18n } = useTranslation('users');
  const [isInviting, setIsInviting] = useState(false);
  const [link, setLink] = useState<string | null>(null);
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
    onDone: ({ link: made }) => setLink(made),
  });
  const revoke = useAction({
    run: ({ id }: Invitation) => ok(api.DELETE(`${INVITATIONS}/{id}`, { params: { path: { id } } })),
    refresh: [invitationsQuery.queryKey, ['audit']],
    done: t('invitation.revoked'),
  });
  const open = (
    <AddButton need={NEED} leftSection={<Mail size={16} />} variant="default" onClick={() => setIsInviting(true)}>
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
      <InviteDialog opened={isInviting} onClose={() => setIsInviting(false)} />
      <Dialog opened={link !== null} onClose={() => setLink(null)} title={t('invitation.linkTitle')} locked>
        <Stack>
          {link !== null && <InvitationLink link={link} />}
          <Button onClick={() => setLink(null)} w="fit-content">
            {t('invitation.finish')}
          </Button>
        </Stack>
      </Dialog>
    </Section>
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
    <Table.ScrollContainer minWidth={480}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('invitation.email')}</Table.Th>
            <Table.Th>{t('column.role')}</Table.Th>
            <Table.Th>{t('invitation.until')}</Table.Th>
            <Table.Th>{t('invitation.actions')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {invitations.map((invitation) => (
            <Table.Tr key={invitation.id}>
              <Table.Td>
                <bdi dir="ltr">{invitation.email}</bdi>
              </Table.Td>
              <Table.Td>{t(`role.${invitation.role}`)}</Table.Td>
              <Table.Td>
                {Date.parse(invitation.expiresAt) < now ? (
                  t('invitation.expired')
                ) : (
                  <DateTime value={invitation.expiresAt} show="exact" />
                )}
              </Table.Td>
              <Table.Td>
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
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };
type NewUser = { readonly username: string; readonly password: string; readonly role: Role };

/** Dialog that adds a user and then shows the password once, so that it can be passed on. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('users');
  const [isCreated, setCreated] = useState(false);
  const close = (): void => {
    setCreated(false);
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={t('create.title')} locked={isCreated}>
      {opened && <Create onClose={close} onCreated={() => setCreated(true)} />}
    </Dialog>
  );
}

type CreateProps = Pick<CreateDialogProps, 'onClose'> & { readonly onCreated: () => void };

function Create({ onClose, onCreated }: CreateProps) {
  const { t } = useTranslation('users');
  const form = useNewUser();
  const create = useAction({
    run: (body: NewUser) => ok(api.POST(USERS, { body })),
    refresh: [['users'], ['audit']],
    form,
    onDone: onCreated,
  });
  if (create.result !== undefined)
    return <PasswordOnce username={create.result.username} password={form.getValues().password} onClose={onClose} />;
  const isTaken = create.error instanceof ApiError && create.error.status === 409;
  const name = form.getInputProps('username');
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
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
    </DialogForm>
  );
}

const NAME = /^[a-z0-9][a-z0-9._@+-]*$/;

function useNewUser() {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  return useForm<NewUser>({
    initialValues: { username: '', password: '', role: 'sender' },
    validate: {
      username: (username) => (NAME.test(username) ? null : t('create.usernameWrong')),
      password: (password, { username }) => faultOf(password, username),
    },
  });
}

type InviteDialogProps = { readonly opened: boolean; readonly onClose: () => void };
type Draft = { readonly email: string; readonly role: Role };

/** Dialog that invites a person: by mail, or with a link to pass on if the gateway sends no mails. */
function InviteDialog({ opened, onClose }: InviteDialogProps) {
  const { t } = useTranslation('users');
  const [hasLink, setHasLink] = useState(false);
  const close = (): void => {
    setHasLink(false);
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={t('invitation.open')} locked={hasLink}>
      {opened && <Invite onClose={close} onLink={() => setHasLink(true)} />}
    </Dialog>
  );
}

type InviteProps = Pick<InviteDialogProps, 'onClose'> & { readonly onLink: () => void };

function Invite({ onClose, onLink }: InviteProps) {
  const { t, i18n } = useTranslation('users');
  const form = useForm<Draft>({
    initialValues: { email: '', role: 'viewer' },
    validate: {
      email: (email) => (/^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(email.trim()) ? null : t('invitation.emailWrong')),
    },
  });
  const invite = useAction({
    run: ({ email, role }: Draft) =>
      ok(api.POST(INVITATIONS, { body: { email: email.trim(), role, language: toLanguage(i18n.language) } })),
    refresh: [invitationsQuery.queryKey, ['audit']],
    form,
    onDone: ({ link }) => link !== null && onLink(),
  });
  if (invite.result !== undefined)
    return (
      <Stack>
        {invite.result.link === null ? (
          <Text role="status">{t('invitation.sent', { email: invite.result.email })}</Text>
        ) : (
          <InvitationLink link={invite.result.link} />
        )}
        <Button onClick={onClose} w="fit-content">
          {t('invitation.finish')}
        </Button>
      </Stack>
    );
  return (
    <DialogForm
      onSubmit={form.onSubmit((draft) => invite.run(draft))}
      action={t('invitation.submit')}
      busy={invite.busy}
      onClose={onClose}
      noValidate
    >
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
    </DialogForm>
  );
}

type PasswordDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Dialog that sets a new password for another user; null closes it. */
export function PasswordDialog({ user, onClose }: PasswordDialogProps) {
  const { t } = useTranslation('users');
  const shown = useLast(user);
  const [isReset, setReset] = useState(false);
  const close = (): void => {
    setReset(false);
    onClose();
  };
  return (
    <Dialog
      opened={user !== null}
      onClose={close}
      title={t('password.title', { username: shown?.username ?? '' })}
      locked={isReset}
    >
      {user && <Reset user={user} onClose={close} onReset={() => setReset(true)} />}
    </Dialog>
  );
}

type ResetProps = { readonly user: User; readonly onClose: () => void; readonly onReset: () => void };

function Reset({ user: { id, username }, onClose, onReset }: ResetProps) {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  const form = useForm({
    initialValues: { password: '' },
    validate: { password: (password) => faultOf(password, username) },
  });
  const reset = useAction({
    run: (body: { password: string }) => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id } }, body })),
    refresh: [['sessions'], ['audit']],
    form,
    onDone: onReset,
  });
  if (reset.result !== undefined)
    return <PasswordOnce username={username} password={form.getValues().password} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => reset.run(values))}
      action={t('password.submit')}
      busy={reset.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('password.text', { username })}</Text>
      <NewPassword
        label={t('password.new')}
        input={form.getInputProps('password')}
        onSuggest={(password) => form.setFieldValue('password', password)}
      />
    </DialogForm>
  );
}

type RoleDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Dialog that changes a user's role; null closes it. */
export function RoleDialog({ user, onClose }: RoleDialogProps) {
  const { t } = useTranslation('users');
  const shown = useLast(user);
  return (
    <Dialog opened={user !== null} onClose={onClose} title={t('role.title', { username: shown?.username ?? '' })}>
      {user && <Change user={user} onClose={onClose} />}
    </Dialog>
  );
}

function Change({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation('users');
  const [role, setRole] = useState(user.role);
  const change = useAction({
    run: () => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id: user.id } }, body: { role } })),
    // The user's own role decides the features of the console.
    refresh: [['users'], ['session'], ['audit']],
    done: t('role.done', { username: user.username, role: t(`role.${role}`) }),
    onDone: onClose,
  });
  return (
    <Stack>
      <RoleChoice value={role} onChange={(next) => setRole(ROLES.find((each) => each === next) ?? role)} />
      <DialogButtons
        onClose={onClose}
        action={t('role.submit')}
        disabled={role === user.role}
        busy={change.busy}
        onConfirm={() => change.run()}
      />
    </Stack>
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

type PasswordOnceProps = { readonly username: string; readonly password: string; readonly onClose: () => void };

/** Shows another user's new password once, so that it can be passed on. */
function PasswordOnce({ username, password, onClose }: PasswordOnceProps) {
  const { t } = useTranslation('users');
  return (
    <Stack>
      <SecretOnce label={t('password.of')} secret={password} note={t('password.handOver', { username })} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('password.handedOver')}</Button>
      </Group>
    </Stack>
  );
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
