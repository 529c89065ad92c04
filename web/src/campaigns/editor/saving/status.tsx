import { Alert, Button, Group, Text } from '@mantine/core';
import { CircleCheck, CloudOff, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { deleteDraft, findDraft, listDrafts } from './stored-draft.ts';
import type { SavingState } from './use-autosave.ts';

/** State of saving, in words. */
export function SaveStatus({ saving: { state } }: { readonly saving: SavingState }) {
  const { t } = useTranslation('campaigns');
  const Sign = state === 'saved' ? CircleCheck : CloudOff;
  return (
    <Group gap={6} wrap="nowrap" c={state === 'saved' ? 'dimmed' : undefined}>
      {(state === 'saved' || state === 'waiting') && <Sign size={16} aria-hidden="true" />}
      <Text size="sm" role="status">
        {t(`saving.${state}`)}
      </Text>
    </Group>
  );
}

type ConflictProps = { readonly saving: SavingState; readonly onReload: () => void };

/** Asks what to do when another user has changed or deleted the draft meanwhile. */
export function Conflict({ saving, onReload }: ConflictProps) {
  const { t } = useTranslation('campaigns');
  const { state } = saving;
  if (state !== 'conflict' && state !== 'gone') return null;
  const keepMine = async (): Promise<void> => saving.overwrite(await makeRoom(saving));
  return (
    <Alert color="amber" icon={<TriangleAlert size={20} />} title={t(`saving.${state}Title`)} mb="md">
      <Text size="sm" mb="sm">
        {t(`saving.${state}Text`)}
      </Text>
      <Group gap="xs">
        <Button size="xs" onClick={() => void keepMine()}>
          {t('saving.keepMine')}
        </Button>
        {state === 'conflict' && (
          <Button size="xs" variant="default" onClick={onReload}>
            {t('saving.takeTheirs')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/**
 * Returns the version over which this one can be saved. Where the draft is gone, another draft of the same campaign is
 * deleted, because there can be only one.
 */
async function makeRoom(saving: SavingState): Promise<number> {
  const { id, campaignId } = saving.place();
  const current = await findDraft(id).catch(() => null);
  if (current !== null) return current.version;
  const others = campaignId === 0 ? [] : await listDrafts({ campaignId });
  for (const other of others) await deleteDraft(other.id);
  return 0;
}
