import { Group, Stack, Text } from '@mantine/core';
import { Copy, RefreshCw, Trash } from 'lucide-react';
import { ActionsMenu } from '../ui/actions/actions-menu.tsx';
import { AddButton } from '../ui/actions/add-button.tsx';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { GuardedButton, GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { SecretOnce } from '../ui/actions/secret-once.tsx';
import { HelpLink } from '../ui/help-link.tsx';
import { Hint } from '../ui/hint.tsx';
import { ButtonLink, TextLink } from '../ui/link.tsx';
import { Section } from '../ui/section.tsx';

const nothing = (): void => undefined;

/** Buttons, links, menus and hints. */
export const Buttons = () => (
  <Section title="Buttons and links" description="Those that are not allowed say why on hover and focus.">
    <Stack>
      <Group>
        <AddButton>Create</AddButton>
        <AddButton need={{ scope: 'contacts' }}>Not allowed</AddButton>
        <GuardedButton variant="default">Allowed</GuardedButton>
        <GuardedButton reason="It is being sent.">Not now</GuardedButton>
        <GuardedButton loading>Busy</GuardedButton>
        <GuardedIcon label="Refresh">
          <RefreshCw size={16} />
        </GuardedIcon>
        <ActionsMenu
          label="Actions"
          actions={[
            { label: 'Duplicate', icon: <Copy size={14} />, onClick: nothing },
            { label: 'Not now', onClick: nothing, reason: 'It is being sent.' },
            { label: 'Delete', icon: <Trash size={14} />, onClick: nothing, danger: true, apart: true },
          ]}
        />
        <CopyButton text="copied" label="Copy" />
      </Group>
      <Group>
        <ButtonLink to="/">ButtonLink</ButtonLink>
        <TextLink to="/">TextLink</TextLink>
        <HelpLink help="concepts#campaigns" />
        <Hint label="The hint of this text">
          <Text tabIndex={0}>Hint</Text>
        </Hint>
      </Group>
      <SecretOnce label="API key" secret="hg_0123456789abcdef" note="It is shown only once." />
    </Stack>
  </Section>
);
