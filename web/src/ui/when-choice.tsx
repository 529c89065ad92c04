import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { DateField } from './date-field.tsx';
import { instantOf } from './date-text.ts';
import { useFormat } from './format.ts';

type WhenChoiceProps = {
  /** The times that are chosen with one click. */
  readonly times: readonly { readonly label: string; readonly at: Date }[];
  /** The label of the field for another time, and of its button. */
  readonly label: string;
  readonly action: string;
  /** The value of the field at first. */
  readonly value?: string;
  readonly onChoose: (at: Date) => void;
};

/** The choice of a time, for a dialog: the usual ones as buttons, another one in a field. */
export function WhenChoice({ times, label, action, value = '', onChoose }: WhenChoiceProps) {
  const { brief } = useFormat();
  const [own, setOwn] = useState(value);
  const at = instantOf(own);
  return (
    <Stack>
      {times.map((time, index) => (
        <Button
          key={time.label}
          variant="default"
          justify="space-between"
          rightSection={brief(time.at)}
          {...(index === 0 && { 'data-autofocus': true })}
          onClick={() => onChoose(time.at)}
        >
          {time.label}
        </Button>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (at) onChoose(at);
        }}
      >
        <Group align="flex-end" wrap="nowrap">
          <DateField withTime label={label} flex={1} value={own} onChange={setOwn} />
          <Button type="submit" disabled={at === null}>
            {action}
          </Button>
        </Group>
      </form>
    </Stack>
  );
}
