import { Paper, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './text-editor.module.css';
import type { Field } from './contact-fields.ts';

export const optionId = (list: string, at: number): string => `${list}-${at}`;

type FieldOptionsProps = {
  readonly id: string;
  readonly fields: readonly Field[];
  readonly active: number;
  readonly onChoose: (at: number) => void;
};

/** The fields that match the typed name. The focus stays in the text area, which refers to the active option. */
export function FieldOptions({ id, fields, active, onChoose }: FieldOptionsProps) {
  const { t } = useTranslation('campaigns');
  return (
    <Paper className={classes.options} shadow="md" role="listbox" id={id} aria-label={t('text.fields')}>
      {fields.map(({ name, description }, at) => (
        <div
          key={name}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === active}
          className={classes.option}
          // On mousedown rather than click: otherwise the text would lose the focus and the list would close.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(at);
          }}
        >
          <Text size="sm" fw={600} component="span">
            {name}
          </Text>
          <Text size="xs" c="dimmed" component="span">
            {description}
          </Text>
        </div>
      ))}
    </Paper>
  );
}
