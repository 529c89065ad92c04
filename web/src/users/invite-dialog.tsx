import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { InvitationLink } from './invitation-link.tsx';
import { INVITATIONS, invitationsQuery } from './invitation.ts';
import { RoleChoice } from './role-choice.tsx';
import type { Role } from './user.ts';
import { toLanguage } from '../api/languages.ts';

type InviteDialogProps = { readonly opened: boolean; readonly onClose: () => void };
type Draft = { readonly email: string; readonly role: Role };

/** Dialog that invites a person: by mail, or with a link to pass on if the gateway sends no mails. */
export function InviteDialog({ opened, onClose }: InviteDialogProps) {
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
