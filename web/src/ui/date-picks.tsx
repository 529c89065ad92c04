import { ActionIcon, Button, Group, Popover, Stack, Text, UnstyledButton } from '@mantine/core';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { cloneElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './date-picks.module.css';
import { dayValue, instantOf, momentValue } from './date-text.ts';
import { useLocale } from './format.ts';
import { type OpenerButton, useOpenWhenDrawn } from './parts.tsx';

/** The hour that the quick picks and the calendar choose. */
const MORNING = 10;
const WEEK = 7;
const WEEKS = 6;

type DatePicksProps = {
  readonly button: OpenerButton;
  readonly value: string;
  readonly withTime: boolean;
  readonly onChoose: (value: string) => void;
};

/** The calendar and the quick picks of a `DateField`, loaded on the first click. */
export function DatePicks({ button, value, withTime, onChoose }: DatePicksProps) {
  const { t } = useTranslation('ui');
  const locale = useLocale();
  const { target, opened, onChange } = useOpenWhenDrawn(button);
  const [today] = useState(() => new Date());
  const chosen = instantOf(value);
  const [month, setMonth] = useState(() => firstOf(chosen ?? today, 0));
  const choose = (at: Date): void => {
    if (withTime) at.setHours(chosen?.getHours() ?? MORNING, chosen?.getMinutes() ?? 0);
    onChoose(withTime ? momentValue(at) : dayValue(at));
    onChange(false);
  };
  const inDays = (days: number): Date => new Date(today.getFullYear(), today.getMonth(), today.getDate() + days);
  const toMonday = (8 - today.getDay()) % WEEK || WEEK;
  const picks = [...(withTime ? [] : [['today', 0] as const]), ['tomorrow', 1] as const, ['monday', toMonday] as const];
  const start = new Date(month.getFullYear(), month.getMonth(), 1 - ((month.getDay() + WEEK - 1) % WEEK));
  const days = Array.from({ length: WEEKS * WEEK }, (_, at) => addDays(start, at));
  const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short' });
  const title = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric' });
  const full = new Intl.DateTimeFormat(locale, { dateStyle: 'full' });
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus withinPortal opened={opened} onChange={onChange}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('date.pick')}>
        <Stack gap="xs">
          <Group gap={6}>
            {picks.map(([name, count]) => (
              <Button key={name} size="compact-sm" variant="default" onClick={() => choose(inDays(count))}>
                {t(withTime ? `date.${name}At` : `date.${name}`, { time: `${MORNING}:00` })}
              </Button>
            ))}
          </Group>
          <Group justify="space-between" wrap="nowrap">
            <Turn label={t('date.before')} Icon={ChevronLeft} onClick={() => setMonth(firstOf(month, -1))} />
            <Text size="sm" fw={500} aria-live="polite">
              {title.format(month)}
            </Text>
            <Turn label={t('date.after')} Icon={ChevronRight} onClick={() => setMonth(firstOf(month, 1))} />
          </Group>
          <div className={classes.days}>
            {days.slice(0, WEEK).map((day) => (
              <span key={day.getDay()} className={classes.weekday} aria-hidden="true">
                {weekday.format(day)}
              </span>
            ))}
            {days.map((day) => (
              <UnstyledButton
                key={dayValue(day)}
                className={classes.day}
                aria-label={full.format(day)}
                aria-pressed={chosen !== null && dayValue(chosen) === dayValue(day)}
                data-other={day.getMonth() !== month.getMonth() || undefined}
                data-today={dayValue(day) === dayValue(today) || undefined}
                onClick={() => choose(day)}
              >
                {day.getDate()}
              </UnstyledButton>
            ))}
          </div>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

const firstOf = (at: Date, months: number): Date => new Date(at.getFullYear(), at.getMonth() + months, 1);
const addDays = (at: Date, days: number): Date => new Date(at.getFullYear(), at.getMonth(), at.getDate() + days);

type TurnProps = { readonly label: string; readonly Icon: typeof ChevronLeft; readonly onClick: () => void };

const Turn = ({ label, Icon, onClick }: TurnProps) => (
  <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
    <Icon size={16} />
  </ActionIcon>
);
