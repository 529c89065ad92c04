import { Radio, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ErrorState, TableSkeleton } from '../ui/parts.tsx';
import { DateTime } from '../ui/values.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { numberColumn } from '../ui/columns.tsx';
import {} from './shared.tsx';

const FENCE = '/api/operator/v1/fence';

const fenceQuery = queryOptions({
  queryKey: ['operator', 'overview', 'fence'],
  queryFn: ({ signal }) => ok(api.GET(FENCE, { signal })),
});

/** Dialog that resumes sending; messages queued before the pause are sent or discarded. */
export function ResumeDialog() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(fenceQuery);
  const isEmpty = data?.queued.length === 0 && data.campaigns.length === 0;
  return (
    <FormDialog
      title={t('fence.resume.title')}
      values={{ queued: 'send' }}
      run={({ queued }) => ok(api.POST(`${FENCE}/resume`, { body: { discard: queued === 'discard' } }))}
      refresh={[['operator']]}
      done={({ discarded }) =>
        discarded === null ? t('fence.resume.done') : t('fence.resume.discarded', { count: discarded })
      }
      isDisabled={() => data === undefined}
      action={({ queued }) => t(queued === 'discard' ? 'fence.resume.submitDiscard' : 'fence.resume.submit')}
      kind={({ queued }) => (queued === 'discard' ? 'danger' : 'normal')}
    >
      {(form) => (
        <>
          {error && <ErrorState error={error} />}
          {!error && !data && <TableSkeleton rows={3} />}
          {data && data.queued.length > 0 && <Queued queued={data.queued} />}
          {data?.queued.length === 0 && <Text size="sm">{t('fence.resume.nothing')}</Text>}
          {data && data.campaigns.length > 0 && (
            <Text size="sm">{t('fence.resume.campaigns', { count: data.campaigns.length })}</Text>
          )}
          {data && !isEmpty && (
            <Radio.Group label={t('fence.resume.question')} {...form.getInputProps('queued')}>
              <Stack gap="sm" mt="xs">
                <Radio value="send" label={t('fence.resume.send')} description={t('fence.resume.sendHint')} />
                <Radio value="discard" label={t('fence.resume.discard')} description={t('fence.resume.discardHint')} />
              </Stack>
            </Radio.Group>
          )}
        </>
      )}
    </FormDialog>
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
    <SmallTable
      label={t('fence.resume.queued')}
      rows={queued}
      rowId={({ accountId }) => String(accountId)}
      columns={[
        { id: 'account', header: t('account.word'), cell: ({ account }) => <bdi>{account}</bdi> },
        numberColumn('messages', t('messages')),
        numberColumn('scheduled', t('queue.scheduled'), { phone: 'none' }),
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
