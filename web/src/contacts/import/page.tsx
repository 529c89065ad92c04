import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../ui/page.tsx';
import { Steps } from '../../ui/stepper.tsx';
import { text, useUrlState } from '../../ui/url-state.ts';
import { CheckStep } from './check-step.tsx';
import { ColumnsStep } from './columns-step.tsx';
import { type Draft, FIRST_CURES, isVcard, NEW_READING } from './draft.ts';
import { FileStep } from './file-step.tsx';
import { Outcome } from './outcome.tsx';
import { PastImports } from './past-imports.tsx';
import { NO_LIST } from '../list-choice.tsx';

const FIELDS = { list: text(), import: text() };

/** The page of the contact import: file, columns, check and result. */
export function Page() {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(FIELDS);
  const id = /^\d{1,15}$/.test(search.import) ? Number(search.import) : null;
  return (
    <Frame
      title={t('import.title')}
      description={id === null ? t('import.text') : undefined}
      trail={[{ label: t('title'), to: '/contacts' }]}
    >
      {id === null ? (
        <Wizard list={search.list} onImported={(importId) => setSearch({ import: String(importId), list: '' })} />
      ) : (
        <Outcome id={id} onAgain={() => setSearch({ import: '' })} />
      )}
    </Frame>
  );
}

type WizardProps = { readonly list: string; readonly onImported: (id: number) => void };
type StepId = 'file' | 'columns' | 'check';

function Wizard({ list, onImported }: WizardProps) {
  const { t } = useTranslation('contacts');
  const [step, setStep] = useState<StepId>('file');
  const [draft, setDraft] = useState<Draft>({
    file: null,
    list: list === '' ? NO_LIST : { list, name: '' },
    preview: null,
    targets: [],
    reading: NEW_READING,
    cures: FIRST_CURES,
    edits: {},
  });
  const change = (patch: Partial<Draft>): void => setDraft((before) => ({ ...before, ...patch }));
  const { file } = draft;
  const isRead = file !== null && (draft.preview !== null || isVcard(file));
  const go = (id: string): void => {
    if (id === 'file' || (isRead && (id !== 'columns' || draft.preview !== null))) setStep(id as StepId);
  };
  const afterFile = (): void => setStep(file !== null && isVcard(file) ? 'check' : 'columns');
  const steps = [
    {
      id: 'file',
      label: t('import.step.file'),
      note: file?.fileName,
      content: <FileStep draft={draft} onChange={change} onNext={afterFile} />,
    },
    {
      id: 'columns',
      label: t('import.step.columns'),
      content: <ColumnsStep draft={draft} onChange={change} onBack={() => go('file')} onNext={() => go('check')} />,
    },
    {
      id: 'check',
      label: t('import.step.check'),
      content: (
        <CheckStep
          draft={draft}
          onChange={change}
          onBack={() => go(draft.preview ? 'columns' : 'file')}
          onImported={onImported}
        />
      ),
    },
  ];
  return (
    <Stack gap="xl" maw={980}>
      <Steps steps={steps} active={step} onChange={go} />
      {step === 'file' && <PastImports />}
    </Stack>
  );
}
