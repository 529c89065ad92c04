import { Checkbox, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { type Scope, useSession } from '../api/session.ts';

const AREAS: readonly { readonly id: string; readonly scopes: readonly Scope[] }[] = [
  { id: 'channels', scopes: ['SMS', 'WHATSAPP', 'RCS'] },
  { id: 'data', scopes: ['campaigns', 'contacts', 'tracking', 'inbox', 'exports', 'media', 'social'] },
  { id: 'access', scopes: ['webhooks', 'money', 'keys'] },
];

type ScopePickerProps = {
  readonly value?: string[];
  readonly onChange?: (value: string[]) => void;
  readonly error?: React.ReactNode;
};

/** The choice of a key's scopes, by area. Scopes that the plan or the role lacks are disabled and show the reason. */
export function ScopePicker(props: ScopePickerProps) {
  const { t } = useTranslation('api-keys');
  return (
    <Checkbox.Group label={t('create.scopes')} description={t('create.scopesHint')} {...props}>
      <Stack gap="sm" mt="xs">
        {AREAS.map(({ id, scopes }) => (
          <div key={id} role="group" aria-labelledby={`scopes-${id}`}>
            <Text id={`scopes-${id}`} size="xs" fw={600} c="dimmed" mb={6}>
              {t(`area.${id}`)}
            </Text>
            <SimpleGrid cols={{ base: 2, xs: 3 }} spacing="xs">
              {scopes.map((scope) => (
                <ScopeBox key={scope} scope={scope} />
              ))}
            </SimpleGrid>
          </div>
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

function ScopeBox({ scope }: { readonly scope: Scope }) {
  const { t } = useTranslation('api-keys');
  const refusal = useSession().refusal({ scope });
  return (
    <Checkbox
      value={scope}
      label={t(`scope.${scope}`)}
      disabled={refusal !== null}
      {...(refusal !== null && { description: t(`create.${refusal === 'plan' ? 'notInPlan' : 'notYours'}`) })}
    />
  );
}
