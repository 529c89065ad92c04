import { Button, Group, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Mail, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { AddButton } from '../ui/actions/add-button.tsx';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Section } from '../ui/section.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { useNow } from '../ui/values/use-now.ts';
import { InvitationLink } from './invitation-link.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { type Invitation, invitationsQuery, INVITATIONS } from './invitation.ts';
import { NEED } from './user.ts';
import { toLanguage } from '../api/languages.ts';

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
