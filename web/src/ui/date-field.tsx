import { ActionIcon, TextInput, type TextInputProps } from '@mantine/core';
import { CalendarDays } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { createDateText } from './date-text.ts';
import { useLocale } from './format.ts';
import { OnDemand } from './parts.tsx';

const DatePicks = lazyPart(() => import('./date-picks.tsx').then((file) => ({ default: file.DatePicks })));

type DateFieldProps = Omit<TextInputProps, 'value' | 'defaultValue' | 'onChange' | 'type'> & {
  /** `2026-12-01`, or with `withTime` `2026-12-01T10:00`; '' if empty. */
  readonly value?: string;
  readonly onChange?: (value: string) => void;
  readonly withTime?: boolean;
};

/**
 * A field for a date, written and read in the format of the console, with a button for a calendar and for the dates that
 * are chosen most. The native field follows the language of the browser's menus instead.
 */
export function DateField({ value = '', onChange, withTime = false, error, ...rest }: DateFieldProps) {
  const { t } = useTranslation('ui');
  const locale = useLocale();
  const { write, read } = useMemo(() => createDateText(locale), [locale]);
  /** What is being typed; null while the field shows its value. */
  const [typed, setTyped] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const choose = (next: string): void => {
    setTyped(null);
    setWrong(false);
    if (next !== value) onChange?.(next);
  };
  /** A whole date counts while it is typed, so that Enter submits it. */
  const type = (text: string): void => {
    setTyped(text);
    setWrong(false);
    const next = text === '' ? '' : /\d{4}/.test(text) ? read(text, withTime) : null;
    if (next !== null && next !== value) onChange?.(next);
  };
  const settle = (): void => {
    if (typed === null) return;
    const next = typed.trim() === '' ? '' : read(typed, withTime);
    if (next === null) setWrong(true);
    else choose(next);
  };
  const button = (
    <ActionIcon variant="subtle" color="gray" aria-label={t('date.pick')}>
      <CalendarDays size={16} />
    </ActionIcon>
  );
  return (
    <TextInput
      {...rest}
      value={typed ?? write(value)}
      error={isWrong ? t('date.wrong') : error}
      autoComplete="off"
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={(event) => {
        settle();
        rest.onBlur?.(event);
      }}
      rightSection={
        <OnDemand button={button} kind="dialog">
          <DatePicks button={button} value={value} withTime={withTime} onChoose={choose} />
        </OnDemand>
      }
    />
  );
}
