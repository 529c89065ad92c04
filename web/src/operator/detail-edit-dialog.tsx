import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { CONNECTION_KEYS, CONNECTIONS, type Connection } from './connection-choice.tsx';
import { fieldsOf, filledOf, initialOf, type Kind, settingsOf } from './connections-fields.ts';
import { LinkFields, type LinkValues } from './connections-settings-fields.tsx';

type EditProps = { readonly connection: Connection; readonly kind: Kind };

/** Dialog that edits settings and secrets; workers reconnect with them. */
export function EditDialog({ connection, kind }: EditProps) {
  const { t } = useTranslation('operator');
  const { name, settings } = connection;
  const { secret } = fieldsOf(kind);
  const before: LinkValues = { name, settings: initialOf(settingsOf(kind), settings), secret: initialOf(secret) };
  return (
    <FormDialog<LinkValues, unknown>
      title={t('connection.edit.title', { name })}
      size="xl"
      values={before}
      run={(values) =>
        ok(
          api.PUT(`${CONNECTIONS}/{name}`, {
            params: { path: { name } },
            body: changesOf(
              filledOf(settingsOf(kind), values.settings, before.settings),
              filledOf(secret, values.secret),
            ),
          }),
        )
      }
      refresh={CONNECTION_KEYS}
      done={t('connection.edit.done', { name })}
      action={t('ui:save')}
    >
      {(form) => (
        <>
          <Text size="sm" c="dimmed">
            {t('connection.edit.text')}
          </Text>
          <LinkFields form={form} kind={kind} isKept />
        </>
      )}
    </FormDialog>
  );
}

type FormValues = Readonly<Record<string, unknown>>;

const changesOf = (settings: FormValues, secret: FormValues) => ({
  ...(Object.keys(settings).length > 0 && { settings }),
  ...(Object.keys(secret).length > 0 && { secret }),
});
