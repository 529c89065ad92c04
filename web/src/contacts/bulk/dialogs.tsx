import { BulkDeleteDialog } from './delete-dialog.tsx';
import { BulkExportDialog } from './export-dialog.tsx';
import { BulkListDialog } from './list-dialog.tsx';
import type { Target } from './bulk.ts';

export type BulkAction = 'add' | 'remove' | 'export' | 'delete';

type BulkDialogsProps = {
  readonly target: Target;
  /** The open dialog; null if all are closed. */
  readonly open: BulkAction | null;
  readonly listId: number | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** The dialogs of the bulk actions, loaded by `BulkBar` when the first one opens. */
export function BulkDialogs({ open, listId, ...shared }: BulkDialogsProps) {
  return (
    <>
      <BulkListDialog {...shared} what={open === 'add' || open === 'remove' ? open : null} listId={listId} />
      <BulkExportDialog {...shared} opened={open === 'export'} listId={listId} />
      <BulkDeleteDialog {...shared} opened={open === 'delete'} />
    </>
  );
}
