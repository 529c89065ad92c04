import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import type { Campaign } from '../campaign.ts';

const FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
type Format = (typeof FORMATS)[number];

const EXPORTS = '/api/partner-gateway/v1/exports';

type ExportDialogProps = { readonly campaign: Campaign; readonly opened: boolean; readonly onClose: () => void };

/** Dialog that requests a campaign's delivery report, waits for it and offers the download. */
export function ExportDialog({ campaign, opened, onClose }: ExportDialogProps) {
  const { t } = useTranslation('campaigns');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('export.title', { name: campaign.name })}>
      {opened && <Export id={campaign.id} />}
    </Dialog>
  );
}

function Export({ id }: { readonly id: number }) {
  const { t } = useTranslation('campaigns');
  const [format, setFormat] = useState<Format>('csv');
  const ask = useAction({
    run: () => ok(api.POST(`${EXPORTS}/delivery-reports`, { body: { campaignId: id, format } })),
    refresh: [['exports']],
  });
  if (ask.result !== undefined) return <Job exportId={ask.result.exportId} />;
  return (
    <Stack>
      <Text size="sm">{t('export.text')}</Text>
      <NativeSelect
        label={t('export.format')}
        data={FORMATS.map((value) => ({ value, label: t(`export.formats.${value.replace('.', '')}`) }))}
        value={format}
        onChange={(event) => setFormat(FORMATS.find((each) => each === event.currentTarget.value) ?? 'csv')}
      />
      <Group justify="flex-end">
        <Button loading={ask.busy} onClick={() => ask.run()}>
          {t('export.submit')}
        </Button>
      </Group>
    </Stack>
  );
}

const POLL_MS = 1000;

function Job({ exportId }: { readonly exportId: string }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = useQuery({
    queryKey: ['exports', exportId],
    queryFn: ({ signal }) => ok(api.GET(`${EXPORTS}/{exportId}`, { params: { path: { exportId } }, signal })),
    refetchInterval: ({ state }) => (state.data?.status === 'PENDING' || !state.data ? POLL_MS : false),
  });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  const tone = data?.status === 'FAILED' ? 'failed' : data?.status === 'COMPLETED' ? 'done' : 'running';
  return (
    <Stack>
      <JobProgress label={t('export.writing')} done={data?.progress ?? 0} total={data ? 1 : null} tone={tone} compact />
      <Text size="sm" role="status">
        {t(`export.${tone}`, { count: data?.rows ?? 0, reason: data?.failureReason ?? '' })}
      </Text>
      <Group justify="flex-end">
        <ButtonLink to="/exports" variant="default">
          {t('export.all')}
        </ButtonLink>
        {data?.downloadUrl && (
          <Button component="a" href={data.downloadUrl} leftSection={<Download size={16} />}>
            {t('export.download')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
