import { Group, Stack, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { fieldsQuery, type Field } from './contact-fields.ts';
import { completePlaceholder, type OpenPlaceholder, openPlaceholderAt } from './completion.ts';
import { FieldInsert } from './field-insert.tsx';
import { FieldOptions, optionId } from './field-options.tsx';

const MAX_LENGTH = 5000;

type TextEditorProps = {
  readonly value: string;
  readonly error?: ReactNode;
  readonly onChange: (text: string) => void;
};

/**
 * A text area in which `{{` offers contact fields. Arrow keys, Enter, Tab or a click choose one; Escape closes the
 * list.
 */
export function TextEditor({ value, error, onChange }: TextEditorProps) {
  const { t } = useTranslation('campaigns');
  const { data: fields = [] } = useQuery(fieldsQuery);
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const insert = useInsert(area, onChange);
  const completion = useCompletion(fields, (typed, name) => insert(completePlaceholder(value, typed, name)));
  const { shown, active } = completion;
  const isOpen = shown.length > 0;
  return (
    <Stack gap="xs">
      <div style={{ position: 'relative' }}>
        <Textarea
          ref={area}
          label={t('text.label')}
          description={t('text.labelHint')}
          withAsterisk
          autosize
          minRows={6}
          maxRows={16}
          maxLength={MAX_LENGTH}
          value={value}
          error={error}
          dir="auto"
          aria-autocomplete="list"
          aria-haspopup="listbox"
          {...(isOpen && { 'aria-controls': id, 'aria-activedescendant': optionId(id, active) })}
          onChange={(event) => {
            onChange(event.currentTarget.value);
            completion.look(event.currentTarget);
          }}
          onClick={(event) => completion.look(event.currentTarget)}
          onKeyDown={completion.onKeyDown}
          onBlur={completion.close}
        />
        {isOpen && <FieldOptions id={id} fields={shown} active={active} onChoose={completion.choose} />}
      </div>
      <Group>
        <FieldInsert
          fields={fields}
          onInsert={(placeholder) => {
            const at = area.current?.selectionEnd ?? value.length;
            insert({ text: value.slice(0, at) + placeholder + value.slice(at), caret: at + placeholder.length });
          }}
        />
      </Group>
    </Stack>
  );
}

/** Inserts a text synchronously, so that the caret can be placed behind it. */
function useInsert(area: RefObject<HTMLTextAreaElement | null>, onChange: (text: string) => void) {
  return ({ text, caret }: { readonly text: string; readonly caret: number }): void => {
    flushSync(() => onChange(text));
    area.current?.focus();
    area.current?.setSelectionRange(caret, caret);
  };
}

function useCompletion(fields: readonly Field[], choose: (typed: OpenPlaceholder, name: string) => void) {
  const [typed, setTyped] = useState<OpenPlaceholder | null>(null);
  const [active, setActive] = useState(0);
  const wanted = typed?.name.toLowerCase() ?? '';
  const shown = typed === null ? [] : fields.filter(({ name }) => name.toLowerCase().includes(wanted));
  const close = (): void => setTyped(null);
  const take = (at: number): void => {
    const field = shown[at];
    if (typed !== null && field !== undefined) choose(typed, field.name);
    close();
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => setActive((active + 1) % shown.length),
    ArrowUp: () => setActive((active + shown.length - 1) % shown.length),
    Enter: () => take(active),
    Tab: () => take(active),
    Escape: close,
  };
  return {
    shown,
    active: Math.min(active, Math.max(0, shown.length - 1)),
    close,
    choose: take,
    look({ value, selectionEnd }: HTMLTextAreaElement): void {
      setTyped(openPlaceholderAt(value, selectionEnd));
      setActive(0);
    },
    onKeyDown(event: KeyboardEvent): void {
      const act = shown.length > 0 ? keys[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    },
  };
}
