import { Paper, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CannedAnswer } from '../desk/tools.ts';
import classes from '../inbox.module.css';

export const optionId = (list: string, at: number): string => `${list}-${at}`;

type CannedOptionsProps = {
  readonly id: string;
  readonly answers: readonly CannedAnswer[];
  readonly active: number;
  readonly onChoose: (answer: CannedAnswer) => void;
};

/** The canned answers that the typed text calls. The focus stays in the reply field, which refers to the active one. */
export function CannedOptions({ id, answers, active, onChoose }: CannedOptionsProps) {
  const { t } = useTranslation('inbox');
  return (
    <Paper className={classes.options} shadow="md" withBorder role="listbox" id={id} aria-label={t('canned.title')}>
      {answers.map((answer, at) => (
        <div
          key={answer.id}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === active}
          className={classes.option}
          // On mousedown rather than click: otherwise the field would lose the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(answer);
          }}
        >
          <Text size="sm" fw={600} component="span">
            /{answer.shortcut}
          </Text>
          <Text size="sm" component="span" truncate dir="auto">
            {answer.text}
          </Text>
        </div>
      ))}
    </Paper>
  );
}
