import { Text } from '@mantine/core';
import { useFormat } from '../../ui/values/format.ts';
import { useNow } from '../../ui/values/use-now.ts';

const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString();

/** A short time for lists: the time today, else the date; the full time on hover. */
export function ShortTime({ value }: { readonly value: string }) {
  const { clock, day, exact } = useFormat();
  const now = useNow(60_000);
  const instant = new Date(value);
  return (
    <Text
      component="time"
      size="xs"
      c="dimmed"
      dateTime={value}
      title={exact(instant)}
      style={{ whiteSpace: 'nowrap', flexShrink: 0 }}
    >
      {isSameDay(instant, now) ? clock(instant) : day(instant)}
    </Text>
  );
}
