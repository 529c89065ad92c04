import { Button, Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { Dialog, SidePanel } from '../ui/dialog/dialog.tsx';
import { Section } from '../ui/section.tsx';

const KINDS = ['Dialog', 'SidePanel', 'ConfirmDialog', 'ConfirmDialog, typed', 'ConfirmDialog, normal'] as const;

/** Dialogs, each behind a button. */
export function Dialogs() {
  const [open, setOpen] = useState<(typeof KINDS)[number] | null>(null);
  const onClose = (): void => setOpen(null);
  const confirm = { onClose, onConfirm: onClose, title: 'Delete “Spring sale”?', action: 'Delete' };
  return (
    <Section title="Dialogs">
      <Group>
        {KINDS.map((kind) => (
          <Button key={kind} variant="default" onClick={() => setOpen(kind)}>
            {kind}
          </Button>
        ))}
      </Group>
      <Dialog opened={open === 'Dialog'} onClose={onClose} title="A form">
        <DialogForm
          onClose={onClose}
          action="Save"
          busy={false}
          onSubmit={(event) => {
            event.preventDefault();
            onClose();
          }}
        >
          <TextInput label="Name" description="As people see it" />
          <TextInput label="Sender" error="This sender is taken" />
        </DialogForm>
      </Dialog>
      <SidePanel opened={open === 'SidePanel'} onClose={onClose} title="Details">
        <Text>The details of one item.</Text>
      </SidePanel>
      <ConfirmDialog {...confirm} opened={open === 'ConfirmDialog'}>
        It cannot be undone.
      </ConfirmDialog>
      <ConfirmDialog {...confirm} opened={open === 'ConfirmDialog, typed'} typed="Spring sale">
        It cannot be undone.
      </ConfirmDialog>
      <ConfirmDialog {...confirm} opened={open === 'ConfirmDialog, normal'} kind="normal">
        It can be undone.
      </ConfirmDialog>
    </Section>
  );
}
