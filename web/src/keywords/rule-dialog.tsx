import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { type Rule, RULE_KEYS, RULES } from './rule.ts';

type RuleProps = { readonly rule: Rule | null; readonly onClose: () => void };

/** Dialog that adds a rule, or changes the given one. */
export function RuleDialog({ rule, onClose }: RuleProps) {
  const { t } = useTranslation('keywords');
  return (
    <Dialog opened onClose={onClose} title={t(rule ? 'change.title' : 'add.title')} size="md">
      <Fields rule={rule} onClose={onClose} />
    </Dialog>
  );
}

type Values = {
  readonly number: string;
  readonly keyword: string;
  readonly answer: string;
  readonly forwardTo: string;
};

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

const bodyOf = ({ number, keyword, answer, forwardTo }: Values) => ({
  number: orNull(number.replaceAll(' ', '')),
  keyword,
  answer: orNull(answer),
  forwardTo: orNull(forwardTo),
});

function Fields({ rule, onClose }: RuleProps) {
  const { t } = useTranslation('keywords');
  const form = useForm<Values>({
    initialValues: {
      number: rule?.number ?? '',
      keyword: rule?.keyword ?? '',
      answer: rule?.answer ?? '',
      forwardTo: rule?.forwardTo ?? '',
    },
  });
  const saving = useAction<Values, unknown>({
    run: (values) =>
      rule
        ? ok(api.PATCH(`${RULES}/{id}`, { params: { path: { id: rule.id } }, body: bodyOf(values) }))
        : ok(api.POST(RULES, { body: bodyOf(values) })),
    refresh: RULE_KEYS,
    done: t('saved'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => saving.run(values))}
      action={t('save')}
      busy={saving.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('keyword')}
        description={t('keywordHint')}
        data-autofocus
        required
        {...form.getInputProps('keyword')}
      />
      <TextInput
        label={t('number')}
        description={t('numberHint')}
        inputMode="tel"
        dir="ltr"
        {...form.getInputProps('number')}
      />
      <Textarea
        label={t('answer')}
        description={t('answerHint')}
        autosize
        minRows={2}
        {...form.getInputProps('answer')}
      />
      <TextInput
        label={t('forwardTo')}
        description={t('forwardToHint')}
        dir="ltr"
        {...form.getInputProps('forwardTo')}
      />
    </DialogForm>
  );
}
