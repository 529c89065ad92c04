import { Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Lock } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { useUrlState, whole } from '../../ui/url-state.ts';
import { findCampaign, isEditable } from '../campaign.ts';
import { newDraft, toDraft } from './draft.ts';
import { Editor } from './editor.tsx';

const FIELDS = { id: whole() };

/** The page that creates a campaign, or edits an unconfirmed one (`?id=`). */
export function Page() {
  const [{ id }, setSearch] = useUrlState(FIELDS);
  const { account } = useSession();
  // A campaign that this form has created keeps the form; it was not opened by its ID.
  const [made, setMade] = useState(0);
  if (id !== 0 && id !== made) return <Existing key={id} id={id} />;
  const keep = (given: number): void => {
    setMade(given);
    setSearch({ id: given });
  };
  return <Editor initial={newDraft(account.channels)} id={id} onCreated={keep} />;
}

function Existing({ id }: { readonly id: number }) {
  const { t } = useTranslation('campaigns');
  // Fetched only once, when it is opened, so that a refetch does not overwrite what the user is typing.
  const { data, error, refetch } = useQuery({
    queryKey: ['campaign-to-edit', id],
    queryFn: ({ signal }) => findCampaign(id, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (data !== undefined && isEditable(data)) return <Editor initial={toDraft(data)} id={id} />;
  return (
    <Frame title={t('editor.edit')} trail={[{ label: t('title'), to: '/campaigns' }]}>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && (
        <Stack>
          <Skeleton h={60} />
          <Skeleton h={360} />
        </Stack>
      )}
      {data !== undefined && (
        <EmptyState icon={Lock} title={t('editor.confirmed.title')} text={t('editor.confirmed.text')}>
          <ButtonLink to={`/campaigns/${id}`}>{t('menu.open')}</ButtonLink>
        </EmptyState>
      )}
    </Frame>
  );
}
