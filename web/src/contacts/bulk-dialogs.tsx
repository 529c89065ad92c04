import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, useLast } from '../ui/parts.tsx';
import { BulkDeleteDialog, BulkProgress, idsOf, inBatches, type OnProgress, type Target, useBulk } from './bulk.tsx';
import { CONTACTS } from './contact.ts';
import { idOfChoice, isComplete, ListChoiceField, NO_LIST } from './import.tsx';

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
function BulkListDialog({ what, ...props }: BulkListDialogProps) {
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

type BulkExportDialogProps = {
  readonly target: Target;
  readonly opened: boolean;
  readonly listId: number | undefined;
  readonly onClose: () => void;
};

const FORMATS = ['csv', 'xlsx', 'csv.gz'] as const;
type ExportFormat = (typeof FORMATS)[number];
/** The maximum number of contacts in an export that lists their IDs. */
const MAX_SELECTED = 100_000;

/** Dialog that exports contacts to a file, which is then found under Exports. */
function BulkExportDialog({ target, opened, listId, onClose }: BulkExportDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const title = t('export.title', { count: target.count, shown: format.number(target.count) });
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      {opened && <Export target={target} listId={listId} onClose={onClose} />}
    </Dialog>
  );
}

function Export({ target, listId, onClose }: Omit<BulkExportDialogProps, 'opened'>) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const [kind, setKind] = useState<ExportFormat>('csv');
  const request = useBulk({
    work: (_: void, onProgress) => requestExport({ target, listId, kind, onProgress }),
  });
  const isTooMany = !needsNoIds(target) && target.count > MAX_SELECTED;
  if (request.result !== undefined) return <Requested onClose={onClose} />;
  return (
    <Stack>
      {isTooMany && <Text size="sm">{t('export.tooMany', { most: format.number(MAX_SELECTED) })}</Text>}
      <NativeSelect
        label={t('export.format')}
        data={FORMATS.map((value) => ({ value, label: t(`export.formats.${value.replace('.', '_')}`) }))}
        value={kind}
        onChange={({ currentTarget: { value } }) => setKind(FORMATS.find((each) => each === value) ?? 'csv')}
      />
      <BulkProgress progress={request.progress} />
      <DialogButtons
        onClose={onClose}
        action={t('export.submit')}
        busy={request.busy}
        disabled={isTooMany}
        onConfirm={() => request.run()}
      />
    </Stack>
  );
}

function Requested({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('contacts');
  return (
    <Stack>
      <Text size="sm" role="status">
        {t('export.requested')}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t('ui:close')}
        </Button>
        <ButtonLink to="/exports">{t('export.open')}</ButtonLink>
      </Group>
    </Stack>
  );
}

/** Returns true if the selection is the whole account or list, which an export can name without IDs. */
const needsNoIds = ({ isWhole, selection }: Target): boolean => isWhole && selection.ids.size === 0;

type ExportWork = {
  readonly target: Target;
  readonly listId: number | undefined;
  readonly kind: ExportFormat;
  readonly onProgress: OnProgress;
};

async function requestExport({ target, listId, kind, onProgress }: ExportWork) {
  const whole = listId === undefined ? {} : { listIds: [listId] };
  const scope = needsNoIds(target) ? whole : { contactIds: [...(await idsOf(target, onProgress))] };
  return ok(api.POST('/api/partner-gateway/v1/exports/contacts', { body: { ...scope, format: kind } }));
}

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
