import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { DeleteIcon } from '../ui/actions.tsx';
import lists from '../ui/choice-list.module.css';
import { ButtonLink, Section } from '../ui/parts.tsx';
import { DateTime } from '../ui/values.tsx';
import { NEED } from './campaign.ts';
import { type DraftEntry, deleteDraft, listCopies, listDrafts, useOwner } from './local-copy.ts';

/** Drafts in the editor that are not campaigns yet, or not applied to one: each can be continued. */
export function Drafts() {
  const { t } = useTranslation('campaigns');
  const { may } = useSession();
  const owner = useOwner();
  const { data } = useQuery({
    queryKey: ['campaign-drafts'],
    queryFn: ({ signal }) => listDrafts({}, signal),
    enabled: may(NEED),
  });
  const known = new Set(data?.map(({ id }) => id));
  const kept = may(NEED) ? listCopies(owner).filter(({ id }) => !known.has(id)) : [];
  if ((data ?? []).length + kept.length === 0) return null;
  return (
    <Section title={t('drafts.title')} description={t('drafts.hint')}>
      <ul className={lists.lists} aria-label={t('drafts.title')}>
        {kept.map((copy) => (
          <CopyLine key={copy.id} copy={copy} />
        ))}
        {data?.map((draft) => (
          <DraftLine key={draft.id} draft={draft} />
        ))}
      </ul>
    </Section>
  );
}

function DraftLine({ draft }: { readonly draft: DraftEntry }) {
  const { t } = useTranslation('campaigns');
  const { id, name, campaignId, updatedAt, updatedBy } = draft;
  const label = name || t('drafts.unnamed');
  const note = (
    <>
      {t(campaignId === null ? 'drafts.new' : 'drafts.changes')} · <DateTime value={updatedAt} />
      {updatedBy !== null && ` · ${updatedBy}`}
    </>
  );
  return (
    <Line id={id} name={name} campaignId={campaignId} note={note}>
      <DeleteIcon
        need={NEED}
        label={t('drafts.discardNamed', { name: label })}
        question={{
          title: t('drafts.discardTitle', { name: label }),
          text: t(campaignId === null ? 'drafts.discardNew' : 'drafts.discardChanges'),
          action: t('drafts.discard'),
          run: () => deleteDraft(id),
          refresh: [['campaign-drafts']],
          done: t('drafts.discarded'),
        }}
      />
    </Line>
  );
}

/** A draft that only this browser has, because the server could not be reached. */
function CopyLine({ copy: { id, name, campaignId } }: { readonly copy: ReturnType<typeof listCopies>[number] }) {
  const { t } = useTranslation('campaigns');
  return <Line id={id} name={name} campaignId={campaignId === 0 ? null : campaignId} note={t('drafts.onlyHere')} />;
}

type LineProps = {
  readonly id: string;
  readonly name: string;
  /** The campaign that it changes. */
  readonly campaignId: number | null;
  readonly note: ReactNode;
  /** Further buttons. */
  readonly children?: ReactNode;
};

function Line({ id, name, campaignId, note, children }: LineProps) {
  const { t } = useTranslation('campaigns');
  const label = name || t('drafts.unnamed');
  return (
    <li className={lists.list}>
      <Stack gap={0} style={{ minWidth: 0 }}>
        <Text size="sm" fw={500} dir="auto" className="foreign-text">
          {label}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          {note}
        </Text>
      </Stack>
      <Group gap="xs" wrap="nowrap">
        <ButtonLink
          to="/campaigns/editor"
          search={campaignId === null ? { draft: id } : { id: campaignId, draft: id }}
          size="compact-sm"
          variant="default"
          leftSection={<Pencil size={14} />}
          aria-label={t('drafts.continueNamed', { name: label })}
        >
          {t('drafts.continue')}
        </ButtonLink>
        {children}
      </Group>
    </li>
  );
}
