import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { useFormat } from '../ui/format.ts';

type SnoozeDialogProps = { readonly onChoose: (until: Date) => void };

/** Dialog that chooses when a conversation comes back. */
export function SnoozeDialog({ onChoose }: SnoozeDialogProps) {
  const { t } = useTranslation('inbox');
  return (
    <Dialog title={t('snooze.title')} size="sm">
      <Times onChoose={onChoose} />
    </Dialog>
  );
}

function Times({ onChoose }: SnoozeDialogProps) {
  const { t } = useTranslation('inbox');
  const { close } = useDialog();
  const { brief } = useFormat();
  const [now] = useState(() => new Date());
  const [own, setOwn] = useState('');
  const until = own === '' ? null : new Date(own);
  const choose = (at: Date): void => {
    close();
    onChoose(at);
  };
  return (
    <Stack>
      {snoozeTimes(now).map((time, at) => (
        <Button
          key={time.name}
          variant="default"
          justify="space-between"
          rightSection={brief(time.until)}
          {...(at === 0 && { 'data-autofocus': true })}
          onClick={() => choose(time.until)}
        >
          {t(`snooze.${time.name}`)}
        </Button>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (until) choose(until);
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
          <Button type="submit" disabled={until === null}>
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
