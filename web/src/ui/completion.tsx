import { Paper, Text } from '@mantine/core';
import { type KeyboardEvent, type RefObject, useEffect, useId, useState } from 'react';
import { flushSync } from 'react-dom';
import classes from './completion.module.css';

type Choosing = {
  readonly onChoose: (index: number) => void;
  /** Closes the list, with Escape; Tab then chooses too. A list without it is always open. */
  readonly onClose?: () => void;
};

/**
 * The choice among options by the keyboard. The focus stays in the text field, which refers to the active option: arrow
 * keys move through the options, Enter chooses. The active one stays active while the options change.
 */
export function useOptions(keys: readonly string[], { onChoose, onClose }: Choosing) {
  const list = useId();
  const [activeKey, setActive] = useState('');
  const active = Math.max(0, keys.indexOf(activeKey));
  const isOpen = keys.length > 0;
  const optionId = (index: number): string => `${list}-${index}`;
  const activeId = isOpen ? optionId(active) : undefined;
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);
  const move = (step: number) => (): void => setActive(keys[(active + step + keys.length) % keys.length] ?? '');
  const choose = (index: number): void => {
    setActive('');
    onChoose(index);
  };
  const actions: Readonly<Record<string, (() => void) | undefined>> = {
    ArrowDown: move(1),
    ArrowUp: move(-1),
    Enter: () => choose(active),
    ...(onClose && { Tab: () => choose(active), Escape: onClose }),
  };
  return {
    active,
    setActive,
    choose,
    list: { id: list, role: 'listbox' as const },
    option: (index: number) => ({
      id: optionId(index),
      role: 'option' as const,
      'aria-selected': index === active,
      tabIndex: -1,
    }),
    field: {
      'aria-autocomplete': 'list' as const,
      'aria-haspopup': 'listbox' as const,
      ...(isOpen && { 'aria-controls': list, 'aria-activedescendant': activeId }),
    },
    /** Handles a key of the field; false if it does nothing here. */
    onKeyDown(event: KeyboardEvent): boolean {
      const act = isOpen && !event.nativeEvent.isComposing ? actions[event.key] : undefined;
      if (act === undefined) return false;
      event.preventDefault();
      event.stopPropagation();
      act();
      return true;
    },
  };
}

type Entry = { readonly key: string; readonly name: string; readonly detail: string };

type CompletionListProps = {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly options: ReturnType<typeof useOptions>;
};

/** The options that complete what is typed in a text area, next to it: above the area in a container with `data-above`. */
export const CompletionList = ({ label, entries, options }: CompletionListProps) => (
  <Paper className={classes.options} shadow="md" withBorder aria-label={label} {...options.list}>
    {entries.map(({ key, name, detail }, index) => (
      <div
        key={key}
        className={classes.option}
        {...options.option(index)}
        // On mousedown rather than click: otherwise the field would lose the focus and the list would close.
        onMouseDown={(event) => {
          event.preventDefault();
          options.choose(index);
        }}
      >
        <Text size="sm" fw={500} component="span">
          {name}
        </Text>
        <Text size="xs" c="dimmed" component="span" truncate dir="auto">
          {detail}
        </Text>
      </div>
    ))}
  </Paper>
);

/** Returns a function that sets the text of an area at once, and puts the caret into it. */
export function useTextAndCaret(area: RefObject<HTMLTextAreaElement | null>, onChange: (text: string) => void) {
  return ({ text, caret }: { readonly text: string; readonly caret: number }): void => {
    flushSync(() => onChange(text));
    area.current?.focus();
    area.current?.setSelectionRange(caret, caret);
  };
}
