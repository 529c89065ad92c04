import { Checkbox, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { TextLink } from '../ui/parts.tsx';
import { type Conversation, labelsQuery, setLabels } from './conversation.ts';
import { LabelBadge } from './drafts.tsx';

type LabelDialogProps = {
  readonly conversation: Conversation;
  readonly opened: boolean;
  readonly onClose: () => void;
};

/** Dialog that sets the labels of a conversation. */
export function LabelDialog({ opened, ...props }: LabelDialogProps) {
  const { t } = useTranslation('inbox');
  return (
    <Dialog opened={opened} onClose={props.onClose} title={t('label.title')} size="sm">
      <Choice {...props} />
    </Dialog>
  );
}

function Choice({ conversation: { chatId, labels }, onClose }: Omit<LabelDialogProps, 'opened'>) {
  const { t } = useTranslation('inbox');
  const { data = [], isPending } = useQuery(labelsQuery);
  const [chosen, setChosen] = useState(() => labels.map(({ id }) => String(id)));
  const save = useAction({
    run: setLabels,
    refresh: [
      ['inbox', 'one', chatId],
      ['inbox', 'list'],
    ],
    onDone: onClose,
  });
  const known = chosen.map(Number).filter((id) => data.some((label) => label.id === id));
  return (
    <DialogForm
      onSubmit={() => save.run({ chatId, labelIds: known })}
      action={t('label.save')}
      busy={save.busy}
      disabled={isPending}
      onClose={onClose}
    >
      {!isPending && data.length === 0 && <Text size="sm">{t('label.none')}</Text>}
      <Checkbox.Group value={chosen} onChange={setChosen} aria-label={t('label.title')}>
        <Stack gap="sm">
          {data.map((label, at) => (
            <Checkbox
              key={label.id}
              value={String(label.id)}
              label={<LabelBadge label={label} />}
              {...(at === 0 && { 'data-autofocus': true })}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <Group>
        <TextLink to="/inbox/settings">{t('label.edit')}</TextLink>
      </Group>
    </DialogForm>
  );
}
