import { Button } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../../../ui/page.tsx';
import { Steps } from '../../../ui/stepper.tsx';
import { choice, useUrlState } from '../../../ui/url-state.ts';
import { OPERATOR } from '../../shared/need.ts';
import { CONNECTION_KEYS, CONNECTIONS, type Kind, KINDS } from '../connection.ts';
import { FIELDS, initialOf, settingsOf } from '../fields.ts';
import { KindChoice } from './kind-choice.tsx';
import { toConnectionBody } from '../connection-body.ts';
import { AddedPanel } from './added-panel.tsx';
import type { LinkValues } from '../settings-fields.tsx';
import { SettingsStep } from './settings-step.tsx';
import { TestStep } from './test-step.tsx';

const STEPS = ['kind', 'settings', 'test'] as const;
const SEARCH = { kind: choice(KINDS, 'smpp'), step: choice(STEPS, 'kind') };

const blankOf = (kind: Kind): LinkValues => ({
  name: '',
  settings: initialOf(settingsOf(kind)),
  secret: initialOf(FIELDS[kind].secret),
});

/** The page that adds a connection: type, settings, test. */
export function Page() {
  const { t } = useTranslation('operator');
  const trail = [{ label: t('connection.title'), to: '/operator/connections' }];
  const [{ kind }] = useUrlState(SEARCH);
  return (
    <Frame title={t('wizard.title')} description={t('wizard.description')} trail={trail}>
      <Wizard key={kind} kind={kind} />
    </Frame>
  );
}

/** Returns the required fields that are empty, each with an error. */
function useMissing(kind: Kind) {
  const { t } = useTranslation('operator');
  return (values: LinkValues): Record<string, string> => {
    const { access, secret } = FIELDS[kind];
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

function Wizard({ kind }: { readonly kind: Kind }) {
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
          note: t(`kind.${kind}.name`),
          content: <KindChoice kind={kind} onChange={(next) => setSearch({ kind: next })} />,
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
