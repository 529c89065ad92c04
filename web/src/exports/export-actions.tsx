import { Download, RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { type Export, EXPORTS, findFile, NEED } from './export.ts';

type ExportActionsProps = { readonly row: Export; readonly onDelete: (row: Export) => void };

/** The actions for one export: download, create again once its file has expired, delete. */
export function ExportActions({ row, onDelete }: ExportActionsProps) {
  const { t } = useTranslation('exports');
  const name = t(`type.${row.type}`);
  return (
    <>
      {row.isAvailableForDownload && <DownloadButton row={row} />}
      {(row.status === 'EXPIRED' || row.status === 'FAILED') && <AgainButton row={row} />}
      <GuardedIcon need={NEED} label={t('delete.label', { name })} onClick={() => onDelete(row)}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}

/** The link is requested when it is used, because it expires and the export may have been created again meanwhile. */
function DownloadButton({ row: { exportId } }: Pick<ExportActionsProps, 'row'>) {
  const { t } = useTranslation('exports');
  const fetchFile = useAction({
    run: () => findFile(exportId),
    refresh: [],
    onDone: (address) => address !== null && window.location.assign(address),
  });
  return (
    <GuardedButton
      need={{ scope: 'exports', write: false }}
      size="xs"
      variant="default"
      leftSection={<Download size={14} />}
      loading={fetchFile.busy}
      onClick={() => fetchFile.run()}
    >
      {t('download')}
    </GuardedButton>
  );
}

function AgainButton({ row: { exportId } }: Pick<ExportActionsProps, 'row'>) {
  const { t } = useTranslation('exports');
  const repeat = useAction({
    run: () => ok(api.POST(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } })),
    refresh: [['exports']],
    done: t('again.done'),
  });
  return (
    <GuardedButton
      need={NEED}
      size="xs"
      variant="default"
      leftSection={<RefreshCw size={14} />}
      loading={repeat.busy}
      onClick={() => repeat.run()}
    >
      {t('again.open')}
    </GuardedButton>
  );
}
