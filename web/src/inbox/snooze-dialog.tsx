import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';

type SnoozeDialogProps = {
  readonly opened: boolean;
  readonly busy: boolean;
  readonly onChoose: (until: Date) => void;
  readonly onClose: () => void;
};

/** Dialog that chooses when a conversation comes back. */
export function SnoozeDialog({ opened, onClose, ...props }: SnoozeDialogProps) {
  const { t } = useTranslation('inbox');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('snooze.title')} size="sm">
      <Times {...props} />
    </Dialog>
  );
}

function Times({ busy, onChoose }: Pick<SnoozeDialogProps, 'busy' | 'onChoose'>) {
  const { t } = useTranslation('inbox');
  const { brief } = useFormat();
  const [now] = useState(() => new Date());
  const [own, setOwn] = useState('');
  const until = own === '' ? null : new Date(own);
  return (
    <Stack>
      {snoozeTimes(now).map((time, at) => (
        <Button
          key={time.name}
          variant="default"
          justify="space-between"
          rightSection={brief(time.until)}
          disabled={busy}
          {...(at === 0 && { 'data-autofocus': true })}
          onClick={() => onChoose(time.until)}
        >
          {t(`snooze.${time.name}`)}
        </Button>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (until) onChoose(until);
        }}
      >
        <Group align="flex-end" wrap="nowrap">
          <TextInput
            type="datetime-local"
            label={t('snooze.own')}
            flex={1}
            value={own}
            onChange={(event) => setOwn(event.currentTarget.value)}
          />
          <Button type="submit" loading={busy} disabled={until === null}>
            {t('snooze.submit')}
          </Button>
        </Group>
      </form>
    </Stack>
  );
}

type SnoozeTime = { readonly name: 'later' | 'tomorrow' | 'week'; readonly until: Date };

const HOUR_MS = 3_600_000;
const MORNING = 9;

/** The times offered for snoozing, in the user's own time zone: in three hours, tomorrow and next Monday at nine. */
export function snoozeTimes(now: Date): readonly SnoozeTime[] {
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { name: 'later', until: new Date(now.getTime() + 3 * HOUR_MS) },
    { name: 'tomorrow', until: morningIn(now, 1) },
    { name: 'week', until: morningIn(now, daysToMonday) },
  ];
}

function morningIn(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
}
