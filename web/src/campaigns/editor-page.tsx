import { Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Lock } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { ButtonLink, EmptyState, ErrorState, PageFrame } from '../ui/parts.tsx';
import { text, useUrlState, whole } from '../ui/url-state.ts';
import { type Campaign, findCampaign, isDeletable, isEditable } from './campaign.ts';
import { newDraft, toDraft } from './draft.ts';
import { Editor } from './editor.tsx';
import { findDraft, listDrafts, readContent, readCopy, useOwner } from './local-copy.ts';
import { type Place, untilLeft } from './use-editor.ts';

const FIELDS = { id: whole(), draft: text(), list: whole() };

/**
 * The page that creates a campaign, to a list (`?list=`) or any people, changes one that has not started (`?id=`), or
 * continues a draft (`?draft=`). The editor changes the address itself when it begins a draft or makes a campaign of
 * it; any other change opens it again.
 */
export function Page() {
  const [{ id, draft, list }, setSearch] = useUrlState(FIELDS);
  const here = `${id}/${draft}`;
  const [open, setOpen] = useState({ epoch: 0, addresses: [here] });
  const openAnew = (): void => setOpen(({ epoch }) => ({ epoch: epoch + 1, addresses: [here] }));
  if (!open.addresses.includes(here)) openAnew();
  const move = (nextId: number, nextDraft: string): void => {
    setOpen((before) => ({ ...before, addresses: [...before.addresses, `${nextId}/${nextDraft}`] }));
    setSearch({ id: nextId, draft: nextDraft, list: 0 });
  };
  return (
    <Opening key={open.epoch} epoch={open.epoch} id={id} draft={draft} list={list} onMove={move} onReload={openAnew} />
  );
}

type OpeningProps = {
  /** Number of times that the editor was opened: data read for an earlier opening is not used again. */
  readonly epoch: number;
  readonly id: number;
  readonly draft: string;
  /** The list to which a new campaign goes; 0: none is chosen yet. */
  readonly list: number;
  readonly onMove: (id: number, draft: string) => void;
  readonly onReload: () => void;
};

/** State of the server: the campaign, and the stored draft of it. */
type Found = { readonly campaign: Campaign | null; readonly stored: Awaited<ReturnType<typeof findDraft>> | null };

async function findBoth(id: number, draft: string, signal: AbortSignal): Promise<Found> {
  await untilLeft();
  const named = draft === '' ? null : await findDraft(draft, signal).catch(nullIfGone);
  const stored = named ?? (id === 0 ? null : await findDraftOf(id, signal));
  const campaignId = id || (stored?.campaignId ?? 0);
  return { stored, campaign: campaignId === 0 ? null : await findCampaign(campaignId, signal) };
}

async function findDraftOf(campaignId: number, signal: AbortSignal): Promise<Found['stored']> {
  const [entry] = await listDrafts({ campaignId }, signal);
  return entry === undefined ? null : findDraft(entry.id, signal).catch(nullIfGone);
}

function nullIfGone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

function Opening(props: OpeningProps) {
  // The address at the time of opening: later changes of it are the editor's own.
  const [{ id, draft }] = useState({ id: props.id, draft: props.draft });
  const owner = useOwner();
  const { t } = useTranslation('campaigns');
  const isNew = id === 0 && draft === '';
  // Fetched only once, when it is opened, so that a refetch does not overwrite what the user is typing.
  const { data, error, refetch } = useQuery({
    queryKey: ['campaign-to-edit', id, draft, props.epoch],
    queryFn: ({ signal }) => findBoth(id, draft, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    enabled: !isNew,
  });
  const found = isNew ? NOTHING : (data ?? (error !== null && readCopy(owner, draft) ? NOTHING : undefined));
  if (found !== undefined && (found.campaign === null || isDeletable(found.campaign)))
    return (
      <Ready found={found} id={id} draft={draft} list={props.list} onMove={props.onMove} onReload={props.onReload} />
    );
  return (
    <PageFrame title={t('editor.edit')} trail={[{ label: t('title'), to: '/campaigns' }]}>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && (
        <Stack>
          <Skeleton h={60} />
          <Skeleton h={360} />
        </Stack>
      )}
      {data?.campaign && (
        <EmptyState icon={Lock} title={t('editor.started.title')} text={t('editor.started.text')}>
          <ButtonLink to={`/campaigns/${data.campaign.id}`}>{t('menu.open')}</ButtonLink>
        </EmptyState>
      )}
    </PageFrame>
  );
}

const NOTHING: Found = { campaign: null, stored: null };

type ReadyProps = Omit<OpeningProps, 'epoch'> & { readonly found: Found };

/** The editor with the newest state from this browser, the drafts and the campaign. */
function Ready({ found: { campaign, stored }, id, draft, list, onMove, onReload }: ReadyProps) {
  const { account } = useSession();
  const owner = useOwner();
  const [input] = useState(() => {
    const empty = { ...newDraft(account.channels), ...(list !== 0 && { contactListIds: [list] }) };
    const base = campaign === null ? empty : toDraft(campaign);
    const place: Place = {
      id: stored?.id ?? (draft || crypto.randomUUID()),
      version: stored?.version ?? 0,
      campaignId: campaign?.id ?? id,
    };
    const copy = readCopy(owner, place.id);
    if (copy === null) return { initial: stored ? readContent(stored.content, base) : base, place, isUnsaved: false };
    return { initial: readContent(copy.content, base), place: { ...place, version: copy.version }, isUnsaved: true };
  });
  return (
    <Editor
      {...input}
      scheduled={campaign !== null && !isEditable(campaign) ? campaign : null}
      changes={campaign !== null && stored !== null ? stored : null}
      onMove={onMove}
      onReload={onReload}
    />
  );
}
