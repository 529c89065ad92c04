import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { BulkProgress } from './progress.tsx';
import { idsOf, inBatches, type OnProgress, type Target, useBulk } from './bulk.ts';
import { CONTACTS } from '../contact.ts';

type BulkDialogProps = {
  readonly target: Target;
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** To delete more contacts than this, the user must type their number. */
const MAX_WITHOUT_TYPING = 100;
/** IDs per request; more do not fit into a URL. */
const BATCH_SIZE = 1000;

/** Confirms that contacts are permanently deleted. */
export function BulkDeleteDialog({ target, opened, onClose, onDone }: BulkDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { count } = target;
  const remove = useBulk({
    work: removeAll,
    done: (deleted) => t('delete.done', { count: deleted, shown: format.number(deleted) }),
    onDone() {
      onClose();
      onDone();
    },
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('delete.title', { count, shown: format.number(count) })}
      action={t('delete.submit', { count, shown: format.number(count) })}
      onConfirm={() => remove.run(target)}
      busy={remove.busy}
      {...(count > MAX_WITHOUT_TYPING && { typed: String(count) })}
    >
      <Stack gap="sm">
        {t('delete.text')}
        <BulkProgress progress={remove.progress} />
      </Stack>
    </ConfirmDialog>
  );
}

async function removeAll(target: Target, onProgress: OnProgress): Promise<number> {
  const ids = await idsOf(target, onProgress);
  return inBatches(ids, {
    size: BATCH_SIZE,
    onProgress,
    run: async (batch) => (await ok(api.DELETE(CONTACTS, { params: { query: { ids: batch.join(',') } } }))).deleted,
  });
}
