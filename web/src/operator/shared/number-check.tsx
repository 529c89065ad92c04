import { Button, Group, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';

type NumberCheckProps = {
  /** The label of the field. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (number: string) => void;
  /** Content before the field, such as the channel. */
  readonly before?: ReactNode;
  readonly children: ReactNode;
};

/** A form that looks up a phone number, with the result below it. */
export function NumberCheck({ label, value, onChange, before, children }: NumberCheckProps) {
  const { t } = useTranslation('operator');
  const [text, setText] = useState(value);
  return (
    <Stack gap="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onChange(text.trim());
        }}
      >
        <Group gap="sm" align="flex-end">
          {before}
          <TextInput
            label={label}
            placeholder="+39 347 000 0001"
            type="tel"
            dir="ltr"
            maxLength={32}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={{ base: '100%', xs: 240 }}
          />
          <Button type="submit" variant="default">
            {t('check')}
          </Button>
        </Group>
      </form>
      {children}
    </Stack>
  );
}
