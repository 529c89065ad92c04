import { Grid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Trash2, UserX } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/errors.ts';
import { useSession } from '../../api/session.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { BulkDeleteDialog } from '../bulk/delete-dialog.tsx';
import { Consent } from './consent.tsx';
import { type Contact, contactQuery, type CustomField, fieldsQuery, NEED } from '../contact.ts';
import { Conversations } from './conversations.tsx';
import { Details } from './details.tsx';
import { Lists } from './lists.tsx';
import { RecentMessages } from './recent-messages.tsx';

/** The page of one contact: details, consent, lists, conversations and recent messages. */
export function Page() {
  const { t } = useTranslation('contacts');
  const params: { readonly id?: string } = useParams({ strict: false });
  const contact = useQuery(contactQuery(Number(params.id)));
  const fields = useQuery(fieldsQuery);
  const trail = [{ label: t('title'), to: '/contacts' }];
  const error = contact.error ?? fields.error;
  if (isNotFound(contact.error))
    return (
      <Frame title={t('detail.title')} trail={trail}>
        <EmptyState icon={UserX} title={t('detail.gone')} text={t('detail.goneText')}>
          <ButtonLink to="/contacts">{t('detail.all')}</ButtonLink>
        </EmptyState>
      </Frame>
    );
  if (error !== null && (contact.data === undefined || fields.data === undefined))
    return (
      <Frame title={t('detail.title')} trail={trail}>
        <ErrorState error={error} onRetry={() => void Promise.all([contact.refetch(), fields.refetch()])} />
      </Frame>
    );
  if (contact.data === undefined || fields.data === undefined)
    return (
      <Frame title={t('detail.title')} trail={trail}>
        <TableSkeleton />
      </Frame>
    );
  return <Loaded contact={contact.data} fields={fields.data} />;
}

/** Returns true if there is no such contact, or its ID is malformed. */
const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 400);

type LoadedProps = { readonly contact: Contact; readonly fields: readonly CustomField[] };

function Loaded({ contact, fields }: LoadedProps) {
  const { t } = useTranslation('contacts');
  const { may } = useSession();
  return (
    <Frame
      title={contact.name}
      badge={<Badges contact={contact} />}
      trail={[{ label: t('title'), to: '/contacts' }]}
      actions={<Delete contact={contact} />}
    >
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack gap="lg">
            <Details key={contact.id} contact={contact} fields={fields} />
            {may({ scope: 'tracking' }) && <RecentMessages contact={contact} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack gap="lg">
            <Consent contact={contact} />
            <Lists contact={contact} />
            {may({ scope: 'inbox' }) && <Conversations contact={contact} />}
          </Stack>
        </Grid.Col>
      </Grid>
    </Frame>
  );
}

function Badges({ contact: { isTest, isValid, phoneNumber } }: Pick<LoadedProps, 'contact'>) {
  const { t } = useTranslation('contacts');
  return (
    <>
      {isTest && <StatusBadge tone="neutral">{t('test')}</StatusBadge>}
      {phoneNumber !== null && !isValid && <StatusBadge tone="warning">{t('invalid')}</StatusBadge>}
    </>
  );
}

function Delete({ contact: { id } }: Pick<LoadedProps, 'contact'>) {
  const { t } = useTranslation('contacts');
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const target = { selection: { all: false, ids: new Set([id]) }, query: {}, count: 1, isWhole: false };
  return (
    <>
      <GuardedButton
        need={NEED}
        variant="light"
        color="red"
        leftSection={<Trash2 size={16} />}
        onClick={() => setAsking(true)}
      >
        {t('bulk.delete')}
      </GuardedButton>
      <BulkDeleteDialog
        target={target}
        opened={isAsking}
        onClose={() => setAsking(false)}
        onDone={() => void navigate({ to: '/contacts' })}
      />
    </>
  );
}
