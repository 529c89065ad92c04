import { Code, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../ui/values/date-time.tsx';
import { SidePanel } from '../ui/dialog/dialog.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { PhonePreview } from '../ui/message/phone-preview.tsx';
import { useLast } from '../ui/use-last.ts';
import type { Template } from './template.ts';
import { TemplateStatus } from './template-columns.tsx';

type TemplatePanelProps = { readonly template: Template | null; readonly onClose: () => void };

/** Side panel with a template's preview and details; null closes it. */
export function TemplatePanel({ template, onClose }: TemplatePanelProps) {
  const shown = useLast(template);
  return (
    <SidePanel opened={template !== null} onClose={onClose} title={shown?.name ?? ''}>
      {shown && (
        <Stack gap="lg">
          <PhonePreview
            channel={shown.channel}
            sender=""
            title={shown.content.title || undefined}
            text={[shown.content.text, shown.content.footer].filter((each) => each !== '').join('\n\n')}
            buttons={shown.content.buttons}
          />
          <TemplateFacts template={shown} />
        </Stack>
      )}
    </SidePanel>
  );
}

function TemplateFacts({ template }: { readonly template: Template }) {
  const { t } = useTranslation('account');
  const { id, language, category, updatedAt } = template;
  return (
    <Facts
      facts={[
        { label: t('column.status'), value: <TemplateStatus template={template} /> },
        ...(language === null ? [] : [{ label: t('column.language'), value: language }]),
        ...(category === null
          ? []
          : [{ label: t('column.category'), value: t(`category.${category}`, { defaultValue: category }) }]),
        { label: t('column.placeholders'), value: <Placeholders template={template} /> },
        { label: t('template.id'), value: <Code className="foreign-text">{id}</Code> },
        { label: t('column.updatedAt'), value: <DateTime value={updatedAt} show="exact" /> },
      ]}
    />
  );
}

/** The placeholders, each with the contact field that fills it in campaigns. */
function Placeholders({ template: { placeholders, variables } }: { readonly template: Template }) {
  const { t } = useTranslation('account');
  if (placeholders.length === 0) return t('ui:none');
  return (
    <Stack gap={4}>
      {placeholders.map((placeholder, i) => (
        <Group key={placeholder} gap="xs">
          <Code className="foreign-text">{`{{${placeholder}}}`}</Code>
          <Text size="sm" c="dimmed" className="foreign-text">
            {variables[i] ?? t('template.noField')}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
