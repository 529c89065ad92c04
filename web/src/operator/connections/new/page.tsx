import { Button } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../../../ui/page.tsx';
import { Steps } from '../../../ui/stepper.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import { choice, text, useUrlState } from '../../../ui/url-state.ts';
import { OPERATOR } from '../../shared/need.ts';
import { CONNECTION_KEYS, CONNECTIONS } from '../connection.ts';
import { fieldsOf, initialOf, settingsOf } from '../fields.ts';
import { type Kind, kindsQuery } from '../kind.ts';
import { KindChoice } from './kind-choice.tsx';
import { toConnectionBody } from '../connection-body.ts';
import { AddedPanel } from './added-panel.tsx';
import type { LinkValues } from '../settings-fields.tsx';
import { SettingsStep } from './settings-step.tsx';
import { TestStep } from './test-step.tsx';

const STEPS = ['kind', 'settings', 'test'] as const;
const SEARCH = { kind: text(), step: choice(STEPS, 'kind') };

const blankOf = (kind: Kind): LinkValues => ({
  name: '',
  settings: initialOf(settingsOf(kind)),
  secret: initialOf(fieldsOf(kind).secret),
});

/** The page that adds a connection: type, settings, test. */
export function Page() {
  const { t } = useTranslation('operator');
  const trail = [{ label: t('connection.title'), to: '/operator/connections' }];
  const [{ kind: name }] = useUrlState(SEARCH);
  const { data, error, refetch } = useQuery(kindsQuery);
  const kinds = data?.data ?? [];
  const kind = kinds.find((each) => each.kind === name) ?? kinds[0];
  return (
    <Frame title={t('wizard.title')} description={t('wizard.description')} trail={trail}>
      {kind && <Wizard key={kind.kind} kinds={kinds} kind={kind} />}
      {!kind && (error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />)}
    </Frame>
  );
}

/** Returns the required fields that are empty, each with an error. */
function useMissing(kind: Kind) {
  const { t } = useTranslation('operator');
  return (values: LinkValues): Record<string, string> => {
    const { access, secret } = fieldsOf(kind);
    const empty = [
      ...(values.name.trim() === '' ? ['name'] : []),
      ...access
        .filter(({ name, isRequired }) => isRequired && values.settings[name] === '')
        .map(({ name }) => `settings.${name}`),
      ...secret
        .filter(({ name, isRequired }) => isRequired && values.secret[name] === '')
        .map(({ name }) => `secret.${name}`),
    ];
    return Object.fromEntries(empty.map((path) => [path, t('wizard.missing')]));
  };
}

function Wizard({ kinds, kind }: { readonly kinds: readonly Kind[]; readonly kind: Kind }) {
  const { t } = useTranslation('operator');
  const [{ step }, setSearch] = useUrlState(SEARCH);
  const [hasFault, setHasFault] = useState(false);
  const form = useForm<LinkValues>({ initialValues: blankOf(kind), validate: useMissing(kind) });
  const adding = useAction({
    run: (values: LinkValues) =>
      ok(api.POST(CONNECTIONS, { body: { name: values.name.trim(), ...toConnectionBody(kind, values) } })),
    refresh: CONNECTION_KEYS,
    form,
  });
  if (adding.result) return <AddedPanel connection={adding.result} />;
  const goTo = (next: string): void => {
    const isBehind = next === 'test' && form.validate().hasErrors;
    setHasFault(isBehind);
    setSearch({ step: isBehind ? 'settings' : (STEPS.find((each) => each === next) ?? 'kind') });
  };
  const add = (
    <GuardedButton
      need={OPERATOR}
      loading={adding.busy}
      onClick={() =>
        void form.onSubmit(
          (values) => adding.run(values),
          () => goTo('test'),
        )()
      }
    >
      {t('wizard.add')}
    </GuardedButton>
  );
  return (
    <Steps
      active={step}
      onChange={goTo}
      steps={[
        {
          id: 'kind',
          label: t('wizard.kind'),
          note: t(`kind.${kind.kind}.name`),
          content: (
            <KindChoice
              kinds={kinds.map((each) => each.kind)}
              kind={kind.kind}
              onChange={(next) => setSearch({ kind: next })}
            />
          ),
        },
        {
          id: 'settings',
          label: t('wizard.settings'),
          hasFault: hasFault || adding.error !== null,
          content: <SettingsStep form={form} kind={kind} />,
        },
        { id: 'test', label: t('wizard.test'), content: <TestStep form={form} kind={kind} /> },
      ]}
      footer={<StepButtons step={step} goTo={goTo} add={add} />}
    />
  );
}

type StepButtonsProps = {
  readonly step: (typeof STEPS)[number];
  readonly goTo: (step: string) => void;
  readonly add: React.ReactNode;
};

function StepButtons({ step, goTo, add }: StepButtonsProps) {
  const { t } = useTranslation('operator');
  const at = STEPS.indexOf(step);
  const [before, after] = [STEPS[at - 1], STEPS[at + 1]];
  return (
    <>
      <Button variant="default" disabled={before === undefined} onClick={() => goTo(before ?? 'kind')}>
        {t('wizard.back')}
      </Button>
      {after === undefined ? add : <Button onClick={() => goTo(after)}>{t('wizard.next')}</Button>}
    </>
  );
}
