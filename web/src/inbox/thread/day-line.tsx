import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { useNow } from '../../ui/values/use-now.ts';
import classes from '../inbox.module.css';

const DAY_MS = 86_400_000;

/** The line at the start of a day in a thread. */
export function DayLine({ value }: { readonly value: string }) {
  const { t } = useTranslation('inbox');
  const { day } = useFormat();
  const now = useNow(60_000);
  const its = new Date(value);
  const isDay = (other: Date): boolean => its.toDateString() === other.toDateString();
  const words = isDay(now) ? t('today') : isDay(new Date(now.getTime() - DAY_MS)) ? t('yesterday') : day(its);
  return (
    <li className={classes.line}>
      <Text size="xs" c="dimmed" component="time" dateTime={value.slice(0, 10)}>
        {words}
      </Text>
    </li>
  );
}
