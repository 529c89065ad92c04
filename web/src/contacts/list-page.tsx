import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { FileUp, Megaphone, Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Need, useSession } from '../api/session.ts';
import { ButtonLink, EmptyState, ErrorState, PageFrame, TableSkeleton } from '../ui/parts.tsx';
import { StatusBadge } from '../ui/values.tsx';
import { CONTACTS } from './contact.ts';
import { ContactsTable } from './contacts-table.tsx';

const findList = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/list/{id}`, { params: { path: { id }, query: { includeDeleted: true } }, signal }));
type List = Awaited<ReturnType<typeof findList>>;

/** The page of one list with its contacts. */
export function Page() {
  const { t } = useTranslation('contacts');
  const params: { readonly id?: string } = useParams({ strict: false });
  const id = Number(params.id);
  const list = useQuery({ queryKey: ['lists', 'one', id], queryFn: ({ signal }) => findList(id, signal) });
  const trail = [{ label: t('list.all'), to: '/lists' }];
  if (list.data !== undefined) return <Loaded list={list.data} trail={trail} />;
  return (
    <PageFrame title={t('list.title')} trail={trail}>
      {list.error === null ? <TableSkeleton /> : <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
    </PageFrame>
  );
}

const CAMPAIGN_NEED: Need = { scope: 'campaigns', write: true };

type LoadedProps = { readonly list: List; readonly trail: readonly { label: string; to: string }[] };

function Loaded({ list, trail }: LoadedProps) {
  const { t } = useTranslation('contacts');
  const { id, name, description, isTest, deletedAt } = list;
  const load = (
    <ButtonLink to="/contacts/import" search={{ list: id }} variant="default" leftSection={<FileUp size={16} />}>
      {t('list.import')}
    </ButtonLink>
  );
  const { may } = useSession();
  const campaign = may(CAMPAIGN_NEED) && (
    <ButtonLink to="/campaigns/editor" search={{ list: id }} leftSection={<Megaphone size={16} />}>
      {t('list.campaign')}
    </ButtonLink>
  );
  const badge = deletedAt ? t('list.deleted') : isTest ? t('list.test') : null;
  return (
    <PageFrame
      title={name}
      trail={trail}
      description={description === '' ? undefined : <span className="foreign-text">{description}</span>}
      badge={badge !== null && <StatusBadge tone="neutral">{badge}</StatusBadge>}
      actions={
        deletedAt === null && (
          <>
            {load}
            {campaign}
          </>
        )
      }
    >
      <ContactsTable
        listId={id}
        empty={
          <EmptyState
            icon={Users}
            title={t(deletedAt ? 'list.gone' : 'list.empty')}
            text={t(deletedAt ? 'list.goneText' : 'list.emptyText')}
          >
            {deletedAt === null && (
              <>
                <ButtonLink to="/contacts" variant="default">
                  {t('list.choose')}
                </ButtonLink>
                {load}
              </>
            )}
          </EmptyState>
        }
      />
    </PageFrame>
  );
}
