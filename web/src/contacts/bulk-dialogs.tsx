import { NativeSelect, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { TextLink } from '../ui/parts.tsx';
import {
  BULK_KEYS,
  BulkDeleteDialog,
  idsOf,
  inBatches,
  type OnProgress,
  type Target,
  useBulkProgress,
} from './bulk.tsx';
import { CONTACTS } from './contact.ts';
import { idOfChoice, isComplete, ListChoiceField, NO_LIST } from './import.tsx';

type BulkListDialogProps = {
  readonly target: Target;
  readonly what: 'add' | 'remove';
  /** The list whose page this is; contacts are removed from it. */
  readonly listId: number | undefined;
  readonly onDone: () => void;
};

/** Dialog that adds contacts to a list or removes them from one. */
function BulkListDialog({ target, what, listId, onDone }: BulkListDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { track, bar } = useBulkProgress();
  const isFixed = what === 'remove' && listId !== undefined;
  return (
    <FormDialog
      title={t(`bulk.${what}Title`, { count: target.count, shown: format.number(target.count) })}
      values={{ choice: isFixed ? { list: String(listId), name: '' } : NO_LIST }}
      run={({ choice }) =>
        track(async (onProgress) => {
          const list = await idOfChoice(choice);
          return list === null ? 0 : (what === 'add' ? addAll : removeAll)({ target, list, onProgress });
        })
      }
      refresh={BULK_KEYS}
      done={(count) => t(`bulk.${what}Done`, { count, shown: format.number(count) })}
      onDone={onDone}
      action={t(`bulk.${what}Submit`)}
      isDisabled={({ choice }) => !isComplete(choice)}
    >
      {(form) => (
        <>
          {isFixed ? (
            <Text size="sm">{t('bulk.removeText')}</Text>
          ) : (
            <ListChoiceField
              label={t('bulk.list')}
              none={t('bulk.chooseList')}
              value={form.values.choice}
              onChange={(choice) => form.setFieldValue('choice', choice)}
              canBeNew={what === 'add'}
            />
          )}
          {bar}
        </>
      )}
    </FormDialog>
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

const FORMATS = ['csv', 'xlsx', 'csv.gz'] as const;
type ExportFormat = (typeof FORMATS)[number];
/** The maximum number of contacts in an export that lists their IDs. */
const MAX_SELECTED = 100_000;

type BulkExportDialogProps = { readonly target: Target; readonly listId: number | undefined };

/** Dialog that exports contacts to a file, which is then found under Exports. */
function BulkExportDialog({ target, listId }: BulkExportDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { track, bar } = useBulkProgress();
  const isTooMany = !needsNoIds(target) && target.count > MAX_SELECTED;
  return (
    <FormDialog<{ readonly kind: ExportFormat }, unknown>
      title={t('export.title', { count: target.count, shown: format.number(target.count) })}
      values={{ kind: 'csv' }}
      run={({ kind }) => track((onProgress) => requestExport({ target, listId, kind, onProgress }))}
      action={t('export.submit')}
      isDisabled={() => isTooMany}
      result={() => (
        <>
          <Text size="sm" role="status">
            {t('export.requested')}
          </Text>
          <TextLink to="/exports">{t('export.open')}</TextLink>
        </>
      )}
      finish={t('ui:close')}
    >
      {(form) => (
        <>
          {isTooMany && <Text size="sm">{t('export.tooMany', { most: format.number(MAX_SELECTED) })}</Text>}
          <NativeSelect
            label={t('export.format')}
            data={FORMATS.map((value) => ({ value, label: t(`export.formats.${value.replace('.', '_')}`) }))}
            {...form.getInputProps('kind')}
          />
          {bar}
        </>
      )}
    </FormDialog>
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

type BulkDialogProps = {
  readonly target: Target;
  readonly action: BulkAction;
  readonly listId: number | undefined;
  readonly onDone: () => void;
};

/** The dialog of a bulk action. */
export function BulkDialog({ action, target, listId, onDone }: BulkDialogProps) {
  if (action === 'export') return <BulkExportDialog target={target} listId={listId} />;
  if (action === 'delete') return <BulkDeleteDialog target={target} onDone={onDone} />;
  return <BulkListDialog what={action} target={target} listId={listId} onDone={onDone} />;
}
