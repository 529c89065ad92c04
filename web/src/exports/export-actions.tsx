import { Download, RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { MayButton, MayIcon } from '../ui/actions/may-button.tsx';
import { type Export, EXPORTS, findFile, NEED } from './export.ts';

type ExportActionsProps = { readonly row: Export; readonly onDelete: (row: Export) => void };

/** What can be done with one export: fetch it, make it again once its file is gone, delete it. */
export function ExportActions({ row, onDelete }: ExportActionsProps) {
  const { t } = useTranslation('exports');
  const name = t(`type.${row.type}`);
  return (
    <>
      {row.isAvailableForDownload && <DownloadButton row={row} />}
      {(row.status === 'EXPIRED' || row.status === 'FAILED') && <AgainButton row={row} />}
      <MayIcon need={NEED} label={t('delete.label', { name })} onClick={() => onDelete(row)}>
        <Trash2 size={16} />
      </MayIcon>
    </>
  );
}

/** The link is asked for when it is used: it ends, and an export may be made again meanwhile. */
function DownloadButton({ row: { exportId } }: Pick<ExportActionsProps, 'row'>) {
  const { t } = useTranslation('exports');
  const fetchFile = useAction({
    run: () => findFile(exportId),
    refresh: [],
    onDone: (address) => address !== null && window.location.assign(address),
  });
  return (
    <MayButton
      need={{ scope: 'exports', write: false }}
      size="xs"
      variant="default"
      leftSection={<Download size={14} />}
      loading={fetchFile.busy}
      onClick={() => fetchFile.run()}
    >
      {t('download')}
    </MayButton>
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
    <MayButton
      need={NEED}
      size="xs"
      variant="default"
      leftSection={<RefreshCw size={14} />}
      loading={repeat.busy}
      onClick={() => repeat.run()}
    >
      {t('again.open')}
    </MayButton>
  );
}
