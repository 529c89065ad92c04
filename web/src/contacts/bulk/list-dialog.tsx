import { Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogButtons } from '../../ui/dialog/dialog-form.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { useLast } from '../../ui/use-last.ts';
import { BulkProgress } from './progress.tsx';
import { idsOf, inBatches, type OnProgress, type Target, useBulk } from './bulk.ts';
import { CONTACTS } from '../contact.ts';
import { idOfChoice, isComplete, ListChoiceField, NO_LIST } from '../list-choice.tsx';

type BulkListDialogProps = {
  readonly target: Target;
  /** Action for the contacts; null if the dialog is closed. */
  readonly what: 'add' | 'remove' | null;
  /** The list whose page this is; contacts are removed from it. */
  readonly listId: number | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** Dialog that adds contacts to a list or removes them from one. */
export function BulkListDialog({ what, ...props }: BulkListDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const shown = useLast(what) ?? 'add';
  const { count } = props.target;
  return (
    <Dialog
      opened={what !== null}
      onClose={props.onClose}
      title={t(`bulk.${shown}Title`, { count, shown: format.number(count) })}
    >
      {what && <Choice what={what} {...props} />}
    </Dialog>
  );
}

function Choice({ target, what, listId, onClose, onDone }: BulkListDialogProps & { readonly what: 'add' | 'remove' }) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const isFixed = what === 'remove' && listId !== undefined;
  const [choice, setChoice] = useState(isFixed ? { list: String(listId), name: '' } : NO_LIST);
  const act = useBulk({
    work: async (_: void, onProgress) => {
      const list = await idOfChoice(choice);
      return list === null ? 0 : (what === 'add' ? addAll : removeAll)({ target, list, onProgress });
    },
    done: (count) => t(`bulk.${what}Done`, { count, shown: format.number(count) }),
    onDone() {
      onClose();
      onDone();
    },
  });
  return (
    <Stack>
      {isFixed ? (
        <Text size="sm">{t('bulk.removeText')}</Text>
      ) : (
        <ListChoiceField
          label={t('bulk.list')}
          none={t('bulk.chooseList')}
          value={choice}
          onChange={setChoice}
          canBeNew={what === 'add'}
        />
      )}
      <BulkProgress progress={act.progress} />
      <DialogButtons
        onClose={onClose}
        action={t(`bulk.${what}Submit`)}
        busy={act.busy}
        disabled={!isComplete(choice)}
        onConfirm={() => act.run()}
      />
    </Stack>
  );
}

type Work = { readonly target: Target; readonly list: number; readonly onProgress: OnProgress };
/** Contacts per request. */
const BATCH_SIZE = 10_000;
const MEMBERS = `${CONTACTS}/list/contacts` as const;

/**
 * Adds the contacts and returns the number of those that were not in the list before. All contacts of the account are
 * added by one request.
 */
async function addAll({ target, list, onProgress }: Work): Promise<number> {
  const listIds = [list];
  const { selection, query } = target;
  if (target.isWhole && query.listIds === undefined) {
    const excludeIdsAllContacts = [...selection.ids];
    return (await ok(api.POST(MEMBERS, { body: { listIds, allContacts: true, excludeIdsAllContacts } }))).created;
  }
  return inBatches(await idsOf(target, onProgress), {
    size: BATCH_SIZE,
    onProgress,
    run: async (contactIds) => (await ok(api.POST(MEMBERS, { body: { listIds, contactIds } }))).created,
  });
}

/** Removes the contacts and returns the number of those that were in the list. */
async function removeAll({ target, list, onProgress }: Work): Promise<number> {
  const listIds = [list];
  return inBatches(await idsOf(target, onProgress), {
    size: BATCH_SIZE,
    onProgress,
    run: async (contactIds) => (await ok(api.DELETE(MEMBERS, { body: { listIds, contactIds } }))).deleted,
  });
}
