import { Button, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { cloneElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { type OpenerButton, useOpenWhenDrawn } from '../ui/parts.tsx';
import { useFieldName } from '../ui/values.tsx';

export type FieldPaneProps = {
  readonly button: OpenerButton;
  readonly fields: readonly Field[];
  /** The contact whose values are shown as examples; null if there is none. */
  readonly contactId: number | null;
  readonly onInsert: (placeholder: string) => void;
};

/** The pane that `FieldInsert` opens, loaded on demand. */
export function FieldPane({ button, fields, contactId, onInsert }: FieldPaneProps) {
  const { t } = useTranslation('campaigns');
  const { opened, onChange, target } = useOpenWhenDrawn(button);
  return (
    <Popover opened={opened} onChange={onChange} trapFocus shadow="md" position="bottom-start" width={280}>
      <Popover.Target>{cloneElement(target, { onClick: () => onChange(!opened) })}</Popover.Target>
      <Popover.Dropdown aria-label={t('text.insert')}>
        <Chooser
          fields={fields}
          contactId={contactId}
          onInsert={(placeholder) => {
            onChange(false);
            onInsert(placeholder);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Chooser({ fields, contactId, onInsert }: Omit<FieldPaneProps, 'button'>) {
  const { t } = useTranslation('campaigns');
  const fieldName = useFieldName();
  const values = useFieldValues(contactId);
  const [name, setName] = useState('');
  const [fallback, setFallback] = useState('');
  const labelOf = (field: Field): string => {
    const value = values[field.name];
    const isShown = (typeof value === 'string' && value !== '') || typeof value === 'number';
    return isShown ? `${fieldName(field.name)} · ${value}` : fieldName(field.name);
  };
  const chosen = name || (fields[0]?.name ?? '');
  return (
    <Stack gap="sm">
      <NativeSelect
        label={t('text.field')}
        data={fields.map((field) => ({ value: field.name, label: labelOf(field) }))}
        value={chosen}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={t('text.fallback')}
        description={t('text.fallbackHint')}
        maxLength={200}
        value={fallback}
        onChange={(event) => setFallback(event.currentTarget.value)}
      />
      <Button size="xs" disabled={chosen === ''} onClick={() => onInsert(placeholderOf(chosen, fallback))}>
        {t('text.insertNow')}
      </Button>
    </Stack>
  );
}

/** The values of a contact by the names of its fields. */
function useFieldValues(contactId: number | null): Readonly<Record<string, unknown>> {
  const may = useSession().may({ scope: 'contacts' });
  const { data } = useQuery({
    queryKey: ['contacts', 'of-campaign', contactId],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/partner-gateway/v1/contacts/{id}', { params: { path: { id: contactId ?? 0 } }, signal })),
    enabled: may && contactId !== null,
  });
  return { ...data, ...data?.customFields };
}

/** A placeholder that is being typed: the positions of its opening braces and of the caret, and the name so far. */
export type OpenPlaceholder = { readonly from: number; readonly to: number; readonly name: string };

const OPEN = /\{\{([^{}|\n]*)$/;
const MAX_NAME_LENGTH = 64;

/** The placeholder being typed at the caret; null if there is none. */
export function openPlaceholderAt(text: string, caret: number): OpenPlaceholder | null {
  const found = OPEN.exec(text.slice(Math.max(0, caret - MAX_NAME_LENGTH), caret));
  if (found === null) return null;
  const [whole, name = ''] = found;
  return { from: caret - whole.length, to: caret, name: name.trim() };
}

const CLOSING = /^[^{}|\n]*\}\}/;

/**
 * The text with the placeholder completed, and the new caret position. Braces that already close it are not doubled.
 */
export function completePlaceholder(
  text: string,
  { from, to }: OpenPlaceholder,
  name: string,
): { text: string; caret: number } {
  const rest = text.slice(to);
  const placeholder = `{{${name}}}`;
  return {
    text: text.slice(0, from) + placeholder + rest.replace(CLOSING, ''),
    caret: from + placeholder.length,
  };
}

/** The placeholder for a field: `{{name}}`, or `{{name|default}}` with a default for contacts without a value. */
export const placeholderOf = (name: string, fallback: string): string =>
  fallback.trim() === '' ? `{{${name}}}` : `{{${name}|${fallback.trim().replaceAll('}}', '')}}}`;

const listFields = (signal: AbortSignal) => ok(api.GET('/api/partner-gateway/v1/contacts/placeholders', { signal }));

/** A contact field that a text can use. */
export type Field = Awaited<ReturnType<typeof listFields>>[number];

/** The link by which the recipient of an SMS opts out: no field of a contact, and in no template. */
const OPT_OUT_LINK: Field = { name: 'optout', custom: false, type: 'text', description: '' };

export const fieldsQuery = queryOptions({
  queryKey: ['placeholders'],
  queryFn: async ({ signal }) => [...(await listFields(signal)), OPT_OUT_LINK],
});
