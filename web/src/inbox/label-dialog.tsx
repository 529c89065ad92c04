import { Checkbox, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { FormDialog } from '../ui/form-dialog.tsx';
import { TextLink } from '../ui/parts.tsx';
import { type Conversation, labelsQuery, setLabels } from './conversation.ts';
import { LabelBadge } from './drafts.tsx';

/** Dialog that sets the labels of a conversation. */
export function LabelDialog({ conversation: { chatId, labels } }: { readonly conversation: Conversation }) {
  const { t } = useTranslation('inbox');
  const { data = [], isPending } = useQuery(labelsQuery);
  return (
    <FormDialog
      title={t('label.title')}
      size="sm"
      values={{ chosen: labels.map(({ id }) => String(id)) }}
      run={({ chosen }) => {
        const labelIds = data.map(({ id }) => id).filter((id) => chosen.includes(String(id)));
        return setLabels({ chatId, labelIds });
      }}
      refresh={[
        ['inbox', 'one', chatId],
        ['inbox', 'list'],
      ]}
      action={t('label.save')}
      isDisabled={() => isPending}
    >
      {(form) => (
        <>
          {!isPending && data.length === 0 && <Text size="sm">{t('label.none')}</Text>}
          <Checkbox.Group aria-label={t('label.title')} {...form.getInputProps('chosen')}>
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
        </>
      )}
    </FormDialog>
  );
}
