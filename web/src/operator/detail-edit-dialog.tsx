import { Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { CONNECTION_KEYS, CONNECTIONS, type Connection } from './connection-choice.tsx';
import { fieldsOf, filledOf, initialOf, type Kind, settingsOf } from './connections-fields.ts';
import { LinkFields, type LinkValues } from './connections-settings-fields.tsx';

type EditProps = { readonly connection: Connection; readonly kind: Kind; readonly onClose: () => void };

/** Dialog that edits settings and secrets; workers reconnect with them. */
export function EditDialog({ connection, kind, onClose }: EditProps) {
  const { t } = useTranslation('operator');
  const { name, settings } = connection;
  const { secret } = fieldsOf(kind);
  const before: LinkValues = { name, settings: initialOf(settingsOf(kind), settings), secret: initialOf(secret) };
  const form = useForm<LinkValues>({ initialValues: before });
  const saving = useAction({
    run: (values: LinkValues) =>
      ok(
        api.PUT(`${CONNECTIONS}/{name}`, {
          params: { path: { name } },
          body: changesOf(
            filledOf(settingsOf(kind), values.settings, before.settings),
            filledOf(secret, values.secret),
          ),
        }),
      ),
    refresh: CONNECTION_KEYS,
    done: t('connection.edit.done', { name }),
    form,
    onDone: onClose,
  });
  return (
    <Dialog opened onClose={onClose} title={t('connection.edit.title', { name })} size="xl">
      <DialogForm
        onSubmit={form.onSubmit((values) => saving.run(values))}
        action={t('ui:save')}
        busy={saving.busy}
        onClose={onClose}
      >
        <Text size="sm" c="dimmed">
          {t('connection.edit.text')}
        </Text>
        <LinkFields form={form} kind={kind} isKept />
      </DialogForm>
    </Dialog>
  );
}

type FormValues = Readonly<Record<string, unknown>>;

const changesOf = (settings: FormValues, secret: FormValues) => ({
  ...(Object.keys(settings).length > 0 && { settings }),
  ...(Object.keys(secret).length > 0 && { secret }),
});
