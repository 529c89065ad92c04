import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { StickyNote } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { addNote } from '../desk/tools.ts';
import { ANSWER } from '../use-keys.ts';
import { useDraft } from '../drafts.ts';

const MAX_LENGTH = 4096;

/** The form for a note: only colleagues see it. Enter saves it. */
export function NoteForm({ chatId }: { readonly chatId: string }) {
  const { t } = useTranslation('inbox');
  const [draft, setDraft] = useDraft(`${chatId}:note`);
  const [wasSaved, setSaved] = useState(false);
  const add = useAction({
    run: addNote,
    refresh: [['inbox', 'notes', chatId]],
    onDone: () => {
      setDraft({ text: '' });
      setSaved(true);
    },
  });
  const text = draft.text.trim();
  const save = (): void => {
    if (text !== '' && !add.busy) add.run({ chatId, text });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap={6}>
        <Textarea
          {...{ [ANSWER]: '' }}
          aria-label={t('note.label')}
          placeholder={t('note.placeholder')}
          autosize
          minRows={1}
          maxRows={7}
          maxLength={MAX_LENGTH}
          autoFocus
          readOnly={add.busy}
          value={draft.text}
          onChange={(event) => {
            setDraft({ text: event.currentTarget.value });
            setSaved(false);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            save();
          }}
        />
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed" role="status">
            {t(wasSaved ? 'note.saved' : 'note.private')}
          </Text>
          <Button
            type="submit"
            size="sm"
            rightSection={<StickyNote size={16} />}
            loading={add.busy}
            disabled={text === ''}
          >
            {t('note.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
