import {
  ActionIcon,
  Button,
  Group,
  NativeSelect,
  Radio,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { Plus, X } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { Muted } from '../ui/parts.tsx';
import { ownZone, TimeZoneField } from '../ui/time-zone.tsx';
import { fromRows, type HoursRow, RULES_NEED, type Settings, saveSettings, settingsQuery, toRows } from './drafts.tsx';

const DAYS = [1, 2, 3, 4, 5, 6, 7] as const;
const WEEK: HoursRow[] = [1, 2, 3, 4, 5].map((weekday) => ({ weekday, from: '09:00', to: '18:00' }));

type Values = {
  readonly assignment: Settings['assignment'];
  readonly closedAnswer: string;
  readonly autoRead: boolean;
  readonly timeZone: string;
  readonly hours: readonly HoursRow[];
};

const toBody = ({ assignment, closedAnswer, autoRead, timeZone, hours }: Values): Settings => ({
  assignment,
  autoRead,
  closedAnswer: closedAnswer.trim() === '' ? null : closedAnswer.trim(),
  timeZone,
  openHours: fromRows(hours),
});

/** The form for assignment, opening hours and the automatic reply while the account is closed. */
export function RulesForm({ settings }: { readonly settings: Settings }) {
  const { t } = useTranslation('inbox');
  const isNew = settings.openHours.length === 0;
  const form = useForm<Values>({
    initialValues: {
      assignment: settings.assignment,
      closedAnswer: settings.closedAnswer ?? '',
      autoRead: settings.autoRead ?? false,
      timeZone: isNew ? ownZone() : settings.timeZone,
      hours: toRows(settings.openHours),
    },
  });
  const save = useAction({
    run: (values: Values) => saveSettings(toBody(values)),
    refresh: [settingsQuery.queryKey],
    done: t('rules.saved'),
    form,
  });
  const { hours } = form.values;
  const setHours = (next: readonly HoursRow[]): void => form.setFieldValue('hours', next);
  return (
    <form onSubmit={form.onSubmit((values) => save.run(values))}>
      <Stack>
        <Radio.Group label={t('rules.assignment')} {...form.getInputProps('assignment')}>
          <Stack gap={6} mt={6}>
            <Radio value="MANUAL" label={t('rules.manual')} />
            <Radio value="ROUND_ROBIN" label={t('rules.inTurn')} description={t('rules.inTurnHint')} />
          </Stack>
        </Radio.Group>
        <Switch
          label={t('rules.autoRead')}
          description={t('rules.autoReadHint')}
          {...form.getInputProps('autoRead', { type: 'checkbox' })}
        />
        <TimeZoneField label={t('rules.timeZone')} maw={320} {...form.getInputProps('timeZone')} />
        <Stack gap="xs" role="group" aria-label={t('rules.hours')}>
          <Text size="sm" fw={500}>
            {t('rules.hours')}
          </Text>
          {hours.length === 0 && <Muted>{t('rules.always')}</Muted>}
          {hours.map((row, at) => (
            <HoursLine
              key={at}
              row={row}
              onChange={(patch) => setHours(hours.with(at, { ...row, ...patch }))}
              onRemove={() => setHours(hours.toSpliced(at, 1))}
            />
          ))}
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<Plus size={14} />}
              onClick={() =>
                setHours(hours.length === 0 ? WEEK : [...hours, { weekday: 6, from: '09:00', to: '13:00' }])
              }
            >
              {t(hours.length === 0 ? 'rules.addWeek' : 'rules.addHours')}
            </Button>
          </Group>
          {form.errors['openHours'] !== undefined && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {form.errors['openHours']}
            </Text>
          )}
        </Stack>
        <Textarea
          label={t('rules.answer')}
          description={t('rules.answerHint')}
          autosize
          minRows={2}
          maxLength={1000}
          {...form.getInputProps('closedAnswer')}
        />
        <Group justify="flex-end">
          <GuardedButton type="submit" need={RULES_NEED} loading={save.busy}>
            {t('rules.save')}
          </GuardedButton>
        </Group>
      </Stack>
    </form>
  );
}

type HoursLineProps = {
  readonly row: HoursRow;
  readonly onChange: (patch: Partial<HoursRow>) => void;
  readonly onRemove: () => void;
};

function HoursLine({ row, onChange, onRemove }: HoursLineProps) {
  const { t } = useTranslation('inbox');
  const day = t(`day.${row.weekday}`);
  return (
    <Group gap="xs" maw={460}>
      <NativeSelect
        w={{ base: '100%', xs: 140 }}
        aria-label={t('rules.day')}
        data={DAYS.map((weekday) => ({ value: String(weekday), label: t(`day.${weekday}`) }))}
        value={String(row.weekday)}
        onChange={(event) => onChange({ weekday: Number(event.currentTarget.value) })}
      />
      <TextInput
        type="time"
        flex={1}
        miw={110}
        aria-label={t('rules.from', { day })}
        required
        value={row.from}
        onChange={(event) => onChange({ from: event.currentTarget.value })}
      />
      <TextInput
        type="time"
        flex={1}
        miw={110}
        aria-label={t('rules.to', { day })}
        required
        value={row.to}
        onChange={(event) => onChange({ to: event.currentTarget.value })}
      />
      <ActionIcon variant="subtle" color="gray" aria-label={t('rules.remove', { day })} onClick={onRemove}>
        <X size={16} />
      </ActionIcon>
    </Group>
  );
}
