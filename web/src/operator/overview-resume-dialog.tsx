import { Radio, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { ErrorState } from '../ui/parts.tsx';
import { TableSkeleton } from '../ui/table-skeleton.tsx';
import { DateTime, Num } from '../ui/values.tsx';
import { FENCE, fenceQuery, SENDING_KEYS } from './overview.ts';
import { PlainTable } from './shared.tsx';

/** Dialog that resumes sending; messages queued before the pause are sent or discarded. */
export function ResumeDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(fenceQuery);
  return (
    <Dialog opened onClose={onClose} title={t('fence.resume.title')}>
      <Stack>
        {error && <ErrorState error={error} />}
        {!error && !data && <TableSkeleton rows={3} />}
        {data &&
          (data.queued.length > 0 ? (
            <Queued queued={data.queued} />
          ) : (
            <Text size="sm">{t('fence.resume.nothing')}</Text>
          ))}
        {data && data.campaigns.length > 0 && (
          <Text size="sm">{t('fence.resume.campaigns', { count: data.campaigns.length })}</Text>
        )}
        {data && <Decide onClose={onClose} isEmpty={data.queued.length === 0 && data.campaigns.length === 0} />}
      </Stack>
    </Dialog>
  );
}

type Row = {
  readonly accountId: number;
  readonly account: string;
  readonly messages: number;
  readonly scheduled: number;
  readonly oldest: string;
};

function Queued({ queued }: { readonly queued: readonly Row[] }) {
  const { t } = useTranslation('operator');
  return (
    <PlainTable
      label={t('fence.resume.queued')}
      rows={queued}
      rowId={({ accountId }) => String(accountId)}
      columns={[
        { id: 'account', header: t('account.word'), cell: ({ account }) => <bdi>{account}</bdi> },
        { id: 'messages', header: t('messages'), align: 'right', cell: ({ messages }) => <Num value={messages} /> },
        {
          id: 'scheduled',
          header: t('queue.scheduled'),
          align: 'right',
          wideOnly: true,
          cell: ({ scheduled }) => <Num value={scheduled} />,
        },
        {
          id: 'oldest',
          header: t('fence.resume.oldest'),
          align: 'right',
          cell: ({ oldest }) => <DateTime value={oldest} />,
        },
      ]}
    />
  );
}

function Decide({ onClose, isEmpty }: { readonly onClose: () => void; readonly isEmpty: boolean }) {
  const { t } = useTranslation('operator');
  const [isDiscarded, setIsDiscarded] = useState(false);
  const resuming = useAction({
    run: () => ok(api.POST(`${FENCE}/resume`, { body: { discard: isDiscarded } })),
    refresh: SENDING_KEYS,
    done: ({ discarded }) =>
      discarded === null ? t('fence.resume.done') : t('fence.resume.discarded', { count: discarded }),
    onDone: onClose,
  });
  return (
    <>
      {!isEmpty && (
        <Radio.Group
          value={isDiscarded ? 'discard' : 'send'}
          onChange={(value) => setIsDiscarded(value === 'discard')}
          label={t('fence.resume.question')}
        >
          <Stack gap="sm" mt="xs">
            <Radio value="send" label={t('fence.resume.send')} description={t('fence.resume.sendHint')} />
            <Radio value="discard" label={t('fence.resume.discard')} description={t('fence.resume.discardHint')} />
          </Stack>
        </Radio.Group>
      )}
      <DialogButtons
        onClose={onClose}
        action={t(isDiscarded ? 'fence.resume.submitDiscard' : 'fence.resume.submit')}
        onConfirm={() => resuming.run()}
        busy={resuming.busy}
        kind={isDiscarded ? 'danger' : 'normal'}
      />
    </>
  );
}
