import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogButtons } from '../../ui/dialog/dialog-form.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { ButtonLink } from '../../ui/link.tsx';
import { BulkProgress } from './progress.tsx';
import { idsOf, type OnProgress, type Target, useBulk } from './bulk.ts';

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
export function BulkExportDialog({ target, opened, listId, onClose }: BulkExportDialogProps) {
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

type Work = {
  readonly target: Target;
  readonly listId: number | undefined;
  readonly kind: ExportFormat;
  readonly onProgress: OnProgress;
};

async function requestExport({ target, listId, kind, onProgress }: Work) {
  const whole = listId === undefined ? {} : { listIds: [listId] };
  const scope = needsNoIds(target) ? whole : { contactIds: [...(await idsOf(target, onProgress))] };
  return ok(api.POST('/api/partner-gateway/v1/exports/contacts', { body: { ...scope, format: kind } }));
}
