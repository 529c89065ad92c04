import { Grid, Stack } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { choice, text, useUrlState } from '../ui/url-state.ts';
import { ChannelChoice } from './fields/channel-choice.tsx';
import { ContentFields } from './fields/content-fields.tsx';
import { type Channel, CHANNELS, fallbackChannelsOf } from './draft.ts';
import { FallbackFields } from './fields/fallback-fields.tsx';
import { PreviewPanel } from './preview-panel.tsx';
import { RecipientField } from './fields/recipient-field.tsx';
import { SendBar } from './send-bar.tsx';
import { SenderField } from './fields/sender-field.tsx';
import classes from './send.module.css';
import { SentList } from './sent-list.tsx';
import { usePreview } from './use-preview.ts';
import { useSend } from './use-send.ts';

/** `to` is the number from a link. */
const FIELDS = { channel: choice(CHANNELS), to: text() };

/** The page that sends one message to one person, on any channel. */
export function Page() {
  const { t } = useTranslation('send');
  const [{ channel: wanted, to }, setSearch] = useUrlState(FIELDS);
  const channel = useChannel(wanted);
  const state = useSend(channel, to);
  const { form, template, failures } = state;
  const preview = usePreview(channel, form.values, template?.placeholders);
  const fields = useFirstFault(failures);
  const change = (next: Channel): void => {
    form.clearErrors();
    state.forget();
    setSearch({ channel: next });
  };
  return (
    <Frame title={t('title')} description={t('description')}>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <form
            ref={fields}
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void state.submit();
            }}
          >
            <Stack>
              <Section title={t('who')}>
                <ChannelChoice channel={channel} onChange={change} />
                <RecipientField form={form} />
                <SenderField channel={channel} form={form} />
              </Section>
              <Section title={t('what')}>
                <ContentFields channel={channel} form={form} template={template} preview={preview} />
              </Section>
              {fallbackChannelsOf(channel).length > 0 && <FallbackFields channel={channel} form={form} />}
              <SendBar channel={channel} state={state} />
            </Stack>
          </form>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <div className={classes.aside}>
            <SentList sent={state.sent} />
            <PreviewPanel
              channel={channel}
              draft={form.values}
              errors={form.errors}
              template={template}
              preview={preview}
            />
          </div>
        </Grid.Col>
      </Grid>
    </Frame>
  );
}

/** The channel in the URL if the user may send on it, else the first on which they may. */
function useChannel(wanted: Channel | ''): Channel {
  const { may } = useSession();
  const allowed = CHANNELS.filter((scope) => may({ scope, write: true }));
  return allowed.find((each) => each === wanted) ?? allowed[0] ?? 'SMS';
}

/** Moves the focus to the first field with an error after each failed attempt. */
function useFirstFault(failures: number) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failures > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [failures]);
  return form;
}
