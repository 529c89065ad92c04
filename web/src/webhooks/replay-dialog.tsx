import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogButtons } from '../ui/dialog/dialog-form.tsx';
import { useFormat } from '../ui/values/format.ts';
import { type State, STATES } from './delivery.ts';
import { FORM_A } from './webhook.ts';

type ReplayDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that resends the events of a time range, showing their number first. */
export function ReplayDialog({ opened, onClose }: ReplayDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('replay.title')}>
      {opened && <Replay onClose={onClose} />}
    </Dialog>
  );
}

const DAY_MS = 86_400_000;

/** An instant in the format of `<input type="datetime-local">`, in the user's time zone. */
function localOf(instant: Date): string {
  const shifted = new Date(instant.getTime() - instant.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

type Range = { readonly since: string; readonly until: string; readonly status: State };

/** The range in the fields; null while it is incomplete or reversed. */
function rangeOf(since: string, until: string, status: State): Range | null {
  const [from, to] = [new Date(since), new Date(until)];
  if (!(from <= to)) return null;
  return { since: from.toISOString(), until: to.toISOString(), status };
}

const countEvents = (range: Range, signal: AbortSignal) =>
  ok(api.GET(`${FORM_A}/deliveries`, { params: { query: { ...range, limit: 1 } }, signal })).then(({ total }) => total);

function Replay({ onClose }: Pick<ReplayDialogProps, 'onClose'>) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const [since, setSince] = useState(() => localOf(new Date(Date.now() - DAY_MS)));
  const [until, setUntil] = useState(() => localOf(new Date(Date.now() + 60_000)));
  const [status, setStatus] = useState<State>('DEAD');
  const range = rangeOf(since, until, status);
  const counted = useQuery({
    queryKey: ['webhooks', 'deliveries', 'count', range],
    queryFn: ({ signal }) => (range === null ? 0 : countEvents(range, signal)),
  });
  const count = counted.data ?? 0;
  const replay = useAction({
    run: (body: Range) => ok(api.POST(`${FORM_A}/replay`, { body })),
    refresh: [['webhooks', 'deliveries']],
    done: ({ replayed }) => t('replay.done', { count: replayed, shown: format.number(replayed) }),
    onDone: onClose,
  });
  return (
    <Stack>
      <Text size="sm">{t('replay.text')}</Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label={t('replay.since')}
          value={since}
          onChange={(event) => setSince(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={t('replay.until')}
          value={until}
          onChange={(event) => setUntil(event.currentTarget.value)}
          error={range === null && t('replay.wrong')}
        />
      </SimpleGrid>
      <NativeSelect
        label={t('replay.which')}
        data={STATES.map((value) => ({ value, label: t(`replay.status.${value}`) }))}
        value={status}
        onChange={(event) => setStatus(STATES.find((each) => each === event.currentTarget.value) ?? 'DEAD')}
      />
      <Text size="sm" role="status" fw={600}>
        {counted.isPending ? t('replay.counting') : t('replay.count', { count, shown: format.number(count) })}
      </Text>
      <DialogButtons
        onClose={onClose}
        action={t('replay.submit')}
        busy={replay.busy}
        disabled={range === null || count === 0}
        onConfirm={() => range && replay.run(range)}
      />
    </Stack>
  );
}
