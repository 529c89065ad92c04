import { Anchor, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { type Template, type TemplateChannel, TONES } from './template.ts';

/** The columns of the templates; `onOpen` shows one template in full. */
export function useTemplateColumns(
  channel: TemplateChannel,
  onOpen: (template: Template) => void,
): readonly Column<Template>[] {
  const { t } = useTranslation('account');
  return useMemo(() => {
    const ofNetwork: Column<Template>[] = [
      { id: 'language', header: t('column.language'), cell: ({ language }) => language ?? '–' },
      {
        id: 'category',
        header: t('column.category'),
        cell: ({ category }) => (category === null ? '–' : t(`category.${category}`, { defaultValue: category })),
      },
    ];
    return [
      {
        id: 'name',
        header: t('column.name'),
        phone: 'title',
        cell: (template) => <Name template={template} onOpen={onOpen} />,
      },
      { id: 'status', header: t('column.status'), cell: (template) => <TemplateStatus template={template} /> },
      ...(channel === 'WHATSAPP' ? ofNetwork : []),
      {
        id: 'placeholders',
        header: t('column.placeholders'),
        align: 'right',
        cell: ({ placeholders }) => <span className="tabular">{placeholders.length}</span>,
      },
      { id: 'updatedAt', header: t('column.updatedAt'), cell: ({ updatedAt }) => <DateTime value={updatedAt} /> },
    ];
  }, [t, channel, onOpen]);
}

type NameProps = { readonly template: Template; readonly onOpen: (template: Template) => void };

function Name({ template, onOpen }: NameProps) {
  return (
    <Stack gap={0}>
      <Anchor
        component="button"
        type="button"
        size="sm"
        fw={600}
        ta="left"
        className="foreign-text"
        onClick={(event) => {
          event.stopPropagation();
          onOpen(template);
        }}
      >
        {template.name}
      </Anchor>
      <Text size="xs" c="dimmed" fw={400} lineClamp={1} className="foreign-text" dir="auto">
        {template.content.text}
      </Text>
    </Stack>
  );
}

/** The status of a template, the network's reason for it, and its quality unless it is good or unknown. */
export function TemplateStatus({ template: { status, reason, quality, common } }: { readonly template: Template }) {
  const { t } = useTranslation('account');
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge tone={TONES[status] ?? 'neutral'}>
        {t(`templateStatus.${status}`, { defaultValue: status })}
      </StatusBadge>
      {reason !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {reason}
        </Text>
      )}
      {(quality === 'RED' || quality === 'YELLOW') && (
        <Text size="xs" c="dimmed">
          {t(`templateQuality.${quality}`)}
        </Text>
      )}
      {common && (
        <Text size="xs" c="dimmed">
          {t('template.common')}
        </Text>
      )}
    </Stack>
  );
}
