import { Anchor, Code, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { LayoutTemplate } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, SidePanel } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { PhonePreview } from '../ui/message.tsx';
import { EmptyState, PageFrame, useLast } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { DateTime, Facts, StatusBadge, useFieldName } from '../ui/values.tsx';
import {
  CHANNELS,
  deleteTemplate,
  listTemplates,
  STATES,
  type Template,
  type TemplateChannel,
  TemplateDialog,
  TONES,
} from './template-dialog.tsx';

/** The columns of the templates; `onOpen` shows one template in full. */
function useTemplateColumns(
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
        fw={500}
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
function TemplateStatus({ template: { status, reason, quality, common } }: { readonly template: Template }) {
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

const FIELDS = { ...listFields(), channel: choice(CHANNELS, 'WHATSAPP'), status: choice(STATES), q: text() };

/** The page of the account's templates, with their approval status. */
export function Page() {
  const { t } = useTranslation('account');
  const [search] = useUrlState(FIELDS);
  const make = (
    <AddButton need={{ scope: search.channel }} onClick={() => openDialog(<TemplateDialog channel={search.channel} />)}>
      {t('template.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('part.templates.title')} description={t('part.templates.description')} actions={make}>
      <Templates make={make} />
    </PageFrame>
  );
}

function Templates({ make }: { readonly make: ReactNode }) {
  const { t } = useTranslation('account');
  const [search, setSearch] = useUrlState(FIELDS);
  const [shown, setShown] = useState<Template | null>(null);
  const { channel, ...filters } = search;
  const refusal = useSession().refusal({ scope: channel });
  const columns = useTemplateColumns(channel, setShown);
  const query = useListQuery(['templates', channel, filters], (signal) => listTemplates(channel, filters, signal), {
    enabled: refusal === null,
  });
  const isFiltered = search.q !== '' || search.status !== '';
  const nothing = isFiltered ? 'noMatch' : channel;
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={() => setSearch({ q: '', status: '' })}>
        <NativeSelect
          aria-label={t('template.channel')}
          data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={(event) =>
            setSearch({ channel: CHANNELS.find((each) => each === event.currentTarget.value) ?? 'WHATSAPP' })
          }
        />
        {channel === 'WHATSAPP' && (
          <ChoiceFilter
            label={t('template.anyStatus')}
            options={STATES.map((value) => ({ value, label: t(`templateStatus.${value}`) }))}
            value={search.status}
            onChange={(status) => setSearch({ status })}
          />
        )}
        <SearchField label={t('template.search')} value={search.q} onChange={(q) => setSearch({ q })} />
      </FilterBar>
      {refusal === null ? (
        <DataTable<Template>
          id={`templates-${channel}`}
          label={t('part.templates.title')}
          columns={columns}
          query={query}
          rowId={({ id }) => id}
          search={search}
          onSearch={setSearch}
          onRowClick={setShown}
          actions={(template) => <TemplateActions template={template} />}
          empty={
            <EmptyState
              icon={LayoutTemplate}
              title={t(`template.empty.${nothing}`)}
              text={t(`template.emptyText.${nothing}`)}
              help="concepts#connections-routes-senders-and-templates"
            >
              {!isFiltered && make}
            </EmptyState>
          }
        />
      ) : (
        <EmptyState icon={LayoutTemplate} title={t(`ui:why.${refusal}`)} />
      )}
      <TemplatePanel template={shown} onClose={() => setShown(null)} />
    </>
  );
}

type TemplatePanelProps = { readonly template: Template | null; readonly onClose: () => void };

/** Side panel with a template's preview and details; null closes it. */
function TemplatePanel({ template, onClose }: TemplatePanelProps) {
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
  const fieldName = useFieldName();
  if (placeholders.length === 0) return t('ui:none');
  return (
    <Stack gap={4}>
      {placeholders.map((placeholder, i) => (
        <Group key={placeholder} gap="xs">
          <Code className="foreign-text">{`{{${placeholder}}}`}</Code>
          <Text size="sm" c="dimmed" className="foreign-text">
            {variables[i] === undefined ? t('template.noField') : fieldName(variables[i])}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}

/** The actions for one template. Templates shared by all accounts can be changed by the operator only. */
function TemplateActions({ template }: { readonly template: Template }) {
  const { t } = useTranslation('account');
  const { name, channel, common } = template;
  return (
    <DeleteIcon
      need={{ scope: channel }}
      reason={common && t('template.notYours')}
      label={t('template.delete', { name })}
      question={{
        title: t('template.deleteTitle', { name }),
        text: t(`template.deleteText.${channel}`),
        action: t('template.deleteSubmit'),
        run: () => deleteTemplate(template),
        refresh: [['templates']],
        done: t('template.deleted', { name }),
      }}
    />
  );
}
