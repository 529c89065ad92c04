import { useQuery } from '@tanstack/react-query';
import { FileUp, Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { AddButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, EmptyState, PageFrame } from '../ui/parts.tsx';
import { limitsQuery, NEED } from './contact.ts';
import { ContactsTable } from './contacts-table.tsx';

const CreateDialog = lazyPart(() =>
  import('./listing-create-dialog.tsx').then((file) => ({ default: file.CreateDialog })),
);

/** The page of the account's contacts. */
export function Page() {
  const { t } = useTranslation('contacts');
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<CreateDialog />)}>
      {t('create.open')}
    </AddButton>
  );
  const load = (
    <ButtonLink to="/contacts/import" variant="default" leftSection={<FileUp size={16} />}>
      {t('import.open')}
    </ButtonLink>
  );
  return (
    <PageFrame
      title={t('title')}
      description={<PlanUsage />}
      actions={
        <>
          {load}
          {create}
        </>
      }
    >
      <ContactsTable
        empty={
          <EmptyState
            icon={Users}
            title={t('empty.title')}
            text={t('empty.text')}
            help="concepts#contacts-lists-and-consent"
          >
            {load}
            {create}
          </EmptyState>
        }
      />
    </PageFrame>
  );
}

/** The number of contacts used of the plan's limit. */
function PlanUsage() {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { data } = useQuery(limitsQuery);
  if (data === undefined || data.totalLimit === null) return t('description');
  return t('room', { used: format.number(data.used), limit: format.number(data.totalLimit) });
}
