import { Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ButtonLink } from '../../../ui/link.tsx';
import { SecretOnce } from '../../../ui/actions/secret-once.tsx';
import { Section } from '../../../ui/section.tsx';
import { Callback } from '../callback.tsx';
import { CarrierSetup } from '../carrier-setup.tsx';
import type { Connection } from '../connection.ts';

type AddedProps = { readonly connection: Connection & { readonly tokens: Readonly<Record<string, string>> } };

/** Shown after a connection was added: values to enter at the carrier, and the next steps. */
export function AddedPanel({ connection: { name, kind, routedBy, callbackUrl, tokens, hasSetup } }: AddedProps) {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('wizard.made', { name })} description={t(`kind.${kind}.next`)}>
      <Stack gap="lg">
        {callbackUrl !== null && <Callback kind={kind} url={callbackUrl} />}
        {Object.entries(tokens).map(([token, value]) => (
          <SecretOnce
            key={token}
            label={t(`wizard.token.${token}`)}
            secret={value}
            note={t('wizard.tokenNote', { token: t(`wizard.token.${token}`) })}
          />
        ))}
        {hasSetup && <CarrierSetup name={name} />}
        <Group>
          <ButtonLink to={`/operator/connections/${encodeURIComponent(name)}`} variant="default">
            {t('wizard.see')}
          </ButtonLink>
          {routedBy === 'prefix' ? (
            <ButtonLink to="/operator/routes" search={{ add: name }}>
              {t('wizard.addRoute')}
            </ButtonLink>
          ) : (
            <ButtonLink to="/operator/senders" search={{ add: name }}>
              {t('wizard.addSender')}
            </ButtonLink>
          )}
        </Group>
      </Stack>
    </Section>
  );
}
